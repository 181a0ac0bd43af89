//! The clauses of the contract on the user's store: the cases of the suite, several at once.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use conformance_tests::{SuiteCase, cases};
use dlock::{BootInstant, Clock};
use dlock_verify::{
    support::is_late,
    verdict::{CaseResult, Clause, Verdict},
};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    bounds::{BACKLOG_MAX, CONNECTIONS_MAX, connections},
    paced::Meter,
    progress::Progress,
    stop::Stop,
    target::Subject,
    undecided::{Lag, undecided},
};

/// Why a case has no result.
const NO_TIME: &str = "does not fit into the time";

/// The cases of one clause, and the grants that they saw.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) clause: Clause,
    pub(crate) cases: Vec<CaseResult>,
    /// Grants and replies of the cases.
    pub(crate) meter: Arc<Meter>,
    /// The grants that were checked beside those of the cases.
    pub(crate) others: u64,
}

/// Runs the cases of all clauses until `end`.
///
/// # Cancel safety
///
/// Cases that have begun go on in their threads; stop them by `stop`.
pub(crate) async fn run(
    subject: &Subject,
    end: BootInstant,
    stop: &Stop,
    progress: &Progress,
) -> Vec<Tried> {
    let mut tried = Vec::new();
    let mut queues = Vec::new();
    for clause in Clause::ALL {
        let meter = Arc::new(Meter::default());
        let subject = Subject {
            meter: meter.clone(),
            ..subject.clone()
        };
        let of_clause = cases(Arc::new(subject)).into_iter();
        let of_clause = of_clause.filter(|case| case.clause() == clause);
        queues.push(of_clause.collect::<VecDeque<_>>());
        tried.push(Tried {
            clause,
            cases: Vec::new(),
            meter,
            others: 0,
        });
    }
    let cases = in_turns(queues);
    progress.cases(cases.len());
    let lag = Arc::new(Lag::measured());
    let connections_left = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let mut running = JoinSet::new();
    for case in cases {
        let wanted = connections(subject.capabilities.backend, case.size());
        let stopped = stopped(stop.clone(), end);
        let is_over = Clock::boottime().now() >= end;
        let admitted = async {
            let permit = connections_left.clone().acquire_many_owned(wanted).await;
            subject.pace.room(BACKLOG_MAX).await;
            permit.ok()
        };
        let permit = tokio::select! {
            biased;
            () = std::future::ready(()), if is_over => None,
            permit = admitted => permit,
            () = stopped => None,
        };
        let stopped = self::stopped(stop.clone(), end);
        let (progress, lag) = (progress.clone(), lag.clone());
        let tried = tried.iter().find(|tried| tried.clause == case.clause());
        let meter = tried.map(|tried| tried.meter.clone()).unwrap_or_default();
        running.spawn_blocking(move || {
            let result = match &permit {
                Some(_) => result(&case, stopped, &meter, &lag),
                None => CaseResult::new(case.name(), Verdict::NotTried, NO_TIME),
            };
            progress.case_done();
            (case.clause(), result)
        });
    }
    while let Some(done) = running.join_next().await {
        let Ok((clause, result)) = done else { continue };
        if let Some(tried) = tried.iter_mut().find(|tried| tried.clause == clause) {
            tried.cases.push(result);
        }
    }
    tried
}

/// The first case of each clause, then the second ones: so each clause has some, however short the time is.
fn in_turns(mut queues: Vec<VecDeque<SuiteCase>>) -> Vec<SuiteCase> {
    let mut cases = Vec::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        cases.extend(queues.iter_mut().filter_map(VecDeque::pop_front));
    }
    cases
}

/// Ends with the time or by a signal.
async fn stopped(stop: Stop, end: BootInstant) {
    let left = end.since(Clock::boottime().now());
    tokio::select! {
        () = stop.requested() => {}
        () = tokio::time::sleep(left) => {}
    }
}

fn result(
    case: &SuiteCase,
    stopped: impl Future<Output = ()>,
    meter: &Meter,
    lag: &Lag,
) -> CaseResult {
    let start = Clock::boottime().now();
    // A case may panic instead of failing.
    let ended = catch_unwind(AssertUnwindSafe(|| case.run_until(stopped)));
    match ended.unwrap_or_else(|_| Some(Err("it panicked".into()))) {
        None => CaseResult::new(case.name(), Verdict::NotTried, NO_TIME),
        Some(Ok(())) => CaseResult::new(case.name(), Verdict::Holds, ""),
        Some(Err(failed)) => {
            let why = failed.message().unwrap_or("it failed without a reason");
            let silent = meter.silent_since(start);
            let (silent, lag) = (silent.as_deref(), lag.since(start));
            match undecided(case.clause(), why, is_late(&failed), silent, lag) {
                Some(reason) => {
                    CaseResult::new(case.name(), Verdict::Unknown, format!("{reason} ({why})"))
                }
                None => CaseResult::new(case.name(), Verdict::Fails, why),
            }
        }
    }
}
