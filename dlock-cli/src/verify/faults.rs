//! Faults of the client's side: worker processes are killed and stopped, and their connections fail.

use std::{sync::Arc, time::Duration};

use dlock::LockName;
use dlock_verify::{
    chaos::{Exception, Judgement, Run, Target as _, judge, plan},
    support::Outcome,
    verdict::{CaseResult, Clause, FaultEffect, Finding, Verdict},
};
use tokio::{runtime::Builder, time::timeout};

use super::{clients::Clients, contract::Tried, declared, stop::Stop, target::Subject};

/// The name of the result in the cases of a clause.
const UNDER_FAULTS: &str = "under_faults";

/// The clauses that the history of the workers is checked against.
const CHECKED: [Clause; 4] = [Clause::K1, Clause::K5, Clause::K6, Clause::K8];

/// Why a run that no lock was granted in proves nothing.
const NO_GRANT: &str = "no lock was granted under faults";

/// Threads of the run.
const THREADS: usize = 2;

/// How often each fault is dealt: more than there is time for.
const TIMES: usize = 10;

/// A fault waits for its trigger and lasts for so many ttls at most; the last one begins so long before the end.
const FAULT_TTLS: u32 = 7;

/// A declared exception lasts for so many ttls after its fault at most.
const WINDOW_TTLS: u32 = 2;

/// The clients may take so much longer to settle on a busy machine.
const OVERTIME_MAX: Duration = Duration::from_secs(30);

/// The workers of a stopped run are killed within this time.
const STOP_MAX: Duration = Duration::from_secs(2);

/// The end of a run with faults.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) grants: u64,
    judgement: Judgement,
    /// A warning about each declared exception that the faults have shown.
    pub(crate) declared: Vec<Finding>,
    /// Why the run could not go on, what is wrong with its history, and errors that no fault explains.
    failures: Vec<String>,
}

/// Lets faults strike for `time`; `None` if it was stopped.
///
/// # Errors
///
/// When the workers cannot be started.
///
/// # Cancel safety
///
/// The run goes on in its thread; stop it by `stop`.
pub(crate) async fn run(
    subject: &Subject,
    seed: u64,
    time: Duration,
    stop: &Stop,
) -> Outcome<Option<Played>> {
    let clients = Arc::new(Clients::of(subject).await);
    let (names, stop) = (format!("{}faults/", subject.names), stop.clone());
    for name in clients.load().names(&names) {
        subject.used.add(&LockName::new(&name)?);
    }
    let play = move || -> Outcome<Option<Played>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()?;
        let played = runtime.block_on(async {
            tokio::select! {
                played = play(clients, names, seed, time) => played.map(Some),
                () = stop.requested() => Ok(None),
            }
        });
        // What is left of a stopped run has the workers, which are killed with it.
        runtime.shutdown_timeout(STOP_MAX);
        played
    };
    tokio::task::spawn_blocking(play).await?
}

async fn play(clients: Arc<Clients>, names: String, seed: u64, time: Duration) -> Outcome<Played> {
    let (faults, ttl, store) = (clients.faults(), clients.ttl(), clients.store().to_owned());
    let longest = time.saturating_sub(ttl * FAULT_TTLS);
    let run = Run::new(clients, faults.clone());
    let run = run.prefix(&names).longest(longest).again_max(0);
    let plan = plan(seed, &store, 0, &faults, 0..TIMES, &run.deal());
    let report = timeout(time + OVERTIME_MAX, run.play(&plan)).await;
    let report = report.map_err(|_| "the clients did not settle in time")??;
    let exceptions = Exception::of(&store)?;
    let declared: Vec<_> = exceptions.iter().collect();
    let judgement = judge(&report, &declared, &[], ttl * WINDOW_TTLS);
    let failed = report.failed.into_iter().chain(judgement.malformed.clone());
    Ok(Played {
        grants: report.counts.grants,
        declared: declared::seen(&judgement, &exceptions),
        judgement,
        failures: failed.chain(report.unexpected).collect(),
    })
}

impl Played {
    /// Adds the results to those of the cases.
    pub(crate) fn add_to(&self, tried: &mut [Tried]) {
        for tried in tried {
            let broken = self.broken(tried.clause);
            if broken.is_empty() && !CHECKED.contains(&tried.clause) {
                continue;
            }
            tried.others += self.grants;
            let unknown = self.unknown(tried.clause);
            let (verdict, why) = match (broken.is_empty(), unknown.is_empty()) {
                (false, _) => (Verdict::Fails, broken.join("\n")),
                (true, false) => (Verdict::Unknown, unknown.join("\n")),
                (true, true) => (Verdict::Holds, String::new()),
            };
            tried
                .cases
                .push(CaseResult::new(UNDER_FAULTS, verdict, why));
        }
    }

    /// The effects of each fault.
    pub(crate) fn effects(&self) -> Vec<FaultEffect> {
        let effects = self.judgement.effects.iter();
        let of_fault = effects.map(|(id, found)| {
            let mut effect = FaultEffect::new(id);
            effect.strikes = found.strikes;
            effect.bit = found.bites;
            effect.grants = found.grants;
            effect.violations = found.broken;
            effect.declared = found.declared;
            effect
        });
        of_fault.collect()
    }

    /// Why nothing may be concluded from the run, if that is so.
    pub(crate) fn failed(&self) -> Option<String> {
        (!self.failures.is_empty()).then(|| self.failures.join("; "))
    }

    /// Why the history does not answer: the machine was too slow, or there was no grant.
    fn unknown(&self, clause: Clause) -> Vec<&str> {
        let unknown = self.judgement.unknown.iter();
        let unknown = unknown.filter(|one| one.clause == Some(clause.id()));
        let unknown = unknown.map(|one| one.text.as_str());
        let none = (self.grants == 0).then_some(NO_GRANT);
        unknown.chain(none).collect()
    }

    fn broken(&self, clause: Clause) -> Vec<&str> {
        let broken = self.judgement.broken.iter();
        let broken = broken.filter(|one| one.clause == clause.id());
        broken.map(|one| one.text.as_str()).collect()
    }
}
