//! The verification of one store.

use std::{pin::pin, time::Duration};

use dlock::{
    BootInstant, Clock, Error, ErrorKind,
    config::{Config, Registry},
};
use dlock_raw::probe::{Watch, probe};
use dlock_verify::{
    support::Outcome,
    verdict::{Assumption, Limits, Severity, StoreVerdict},
};
use tokio::time::timeout;

use super::{
    bounds::{
        CONNECTIONS_MAX, CONTRACT_PART, CONTRACT_PART_ALONE, FAULTS_MIN, FIRST_LOCK_SOON,
        REQUESTS_PER_SECOND_MAX, SETTINGS_STOP_MAX, SWEEP_LEAST,
    },
    clauses,
    contract::{self, Tried},
    faults::{self, Played},
    progress::Progress,
    settings,
    stop::Stop,
    subject, sweep,
    target::Subject,
};

/// Said while the first lock is waited for.
const FIRST_LOCK_WAITS: &str = "waiting for the first lock: a server that may have forgotten its locks grants none until \
                                its guard has ended, which comes on top of the time";

/// Said before locks are tried on a server that is almost full.
const EVICTS: &str = "the server's memory is almost full, and it evicts: these locks can make it remove keys of others";

/// The plan of a run, the same for all stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) run_for: Duration,
    pub(crate) faults: Faults,
    pub(crate) seed: u64,
}

/// Whether faults are injected into the program's own processes and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Faults {
    On,
    Off,
}

/// The verdict about a store, and the error if nothing could be found out about it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) verdict: StoreVerdict,
    pub(crate) unreachable: Option<Error>,
}

/// Verifies the store of `registry` that `config` names.
///
/// # Cancel safety
///
/// Not to be dropped: stop it by `stop`, so that it removes what it made.
pub(crate) async fn run(
    registry: &Registry,
    config: &Config,
    plan: Plan,
    stop: &Stop,
    progress: &Progress,
) -> Ended {
    let clock = Clock::boottime();
    let start = clock.now();
    let mut ended = tokio::select! {
        ended = steps(registry, config, plan, start, stop, progress) => ended,
        never = progress.follow(start) => match never {},
    };
    progress.finish();
    ended.verdict.seconds = clock.now().since(start).as_secs_f64();
    ended
}

async fn steps(
    registry: &Registry,
    config: &Config,
    plan: Plan,
    start: BootInstant,
    stop: &Stop,
    progress: &Progress,
) -> Ended {
    let mut ended = Ended {
        verdict: StoreVerdict::new(config.to_string()),
        unreachable: None,
    };
    ended.verdict.limits = Limits::new(REQUESTS_PER_SECOND_MAX, CONNECTIONS_MAX);
    progress.phase("settings");
    let mut probing = pin!(async { (probe(config).await, Watch::begin(config).await.ok()) });
    let (probed, watch) = tokio::select! {
        probed = &mut probing => probed,
        () = stop.requested() => {
            // What a probe begins, such as a lease, it also ends.
            let _ = timeout(SETTINGS_STOP_MAX, probing).await;
            return ended;
        }
    };
    if let Ok(report) = &probed {
        settings::add(&mut ended.verdict, report);
        if report.evictions.is_some_and(|evictions| evictions.are_near) {
            progress.say(EVICTS);
        }
    }
    progress.phase("first lock");
    let names = names(plan.seed);
    let clock = Clock::boottime();
    let opening = clock.now();
    let opened = {
        let mut opened = pin!(subject::open(registry, config, names, stop));
        match timeout(FIRST_LOCK_SOON, &mut opened).await {
            Ok(opened) => opened,
            Err(_) => {
                if probed.is_ok() {
                    progress.say(FIRST_LOCK_WAITS);
                }
                opened.await
            }
        }
    };
    match opened {
        Ok(subject) => {
            let waited = clock.now().since(opening);
            ended.verdict.first_lock_seconds = waited.as_secs_f64();
            // A store that may have forgotten its locks keeps the first one waiting: that is not the time of cases.
            let start = start.after(waited);
            tried(&mut ended.verdict, &subject, plan, start, stop, progress).await;
            progress.phase("sweep");
            sweep::run(&mut ended.verdict.residue, &subject).await;
            if let Some(watch) = watch {
                settings::watched(&mut ended.verdict, &watch.end().await);
            }
            if let Ok(before) = &probed
                && before.evictions.is_some()
                && stop.signal().is_none()
                && let Ok(after) = probe(config).await
            {
                settings::evicted(&mut ended.verdict, before, &after);
            }
        }
        Err(error) => {
            clauses::untried(&mut ended.verdict, "dlock cannot use the store");
            let error = match probed.is_ok() {
                true => error.without_url_hint(),
                false => error,
            };
            ended.verdict.error = Some(error.to_string());
            let is_refused = is_refused(&error, &ended.verdict);
            ended.unreachable = (probed.is_err() || is_refused).then_some(error);
        }
    }
    ended
}

/// Whether the account or the URL is wrong, and no setting of the server, which would be worth a table.
fn is_refused(error: &Error, verdict: &StoreVerdict) -> bool {
    let is_usage = matches!(
        error.kind(),
        ErrorKind::Denied
            | ErrorKind::InvalidConfig
            | ErrorKind::InvalidInput
            | ErrorKind::Unsupported
    );
    let mut findings = verdict.findings.iter();
    is_usage && findings.all(|finding| finding.severity != Severity::Danger)
}

/// Tries locks: the cases of the contract.
async fn tried(
    verdict: &mut StoreVerdict,
    subject: &Subject,
    plan: Plan,
    start: BootInstant,
    stop: &Stop,
    progress: &Progress,
) {
    progress.phase("contract");
    let before_faults = plan.run_for.mul_f64(CONTRACT_PART);
    let has_faults = plan.faults == Faults::On && plan.run_for - before_faults >= FAULTS_MIN;
    let end = start.after(match has_faults {
        true => before_faults,
        false => plan.run_for.mul_f64(CONTRACT_PART_ALONE),
    });
    let mut tried = contract::run(subject, end, stop, progress).await;
    verdict.grants = tried.iter().map(|tried| tried.meter.grants()).sum();
    let left = start.after(plan.run_for).since(Clock::boottime().now());
    if has_faults && left >= FAULTS_MIN && stop.signal().is_none() {
        progress.phase("faults");
        let left = left.saturating_sub(SWEEP_LEAST);
        let played = faults::run(subject, plan.seed, left, stop).await;
        verdict.error = add_faults(verdict, &mut tried, played);
    }
    verdict.clauses = clauses::verdicts(&tried, subject.capabilities.fencing);
    let slowest = tried.iter().map(|tried| tried.meter.slowest()).max();
    let slowest = slowest.unwrap_or_default();
    let allowed = "less than a third of the shortest ttl";
    let slowest = Assumption::new("slowest reply", format!("{slowest:.0?}"), allowed);
    verdict.assumptions.push(slowest);
}

/// Adds what came of the faults; why nothing did, if that is so.
fn add_faults(
    verdict: &mut StoreVerdict,
    tried: &mut [Tried],
    played: Outcome<Option<Played>>,
) -> Option<String> {
    match played {
        Ok(None) => None,
        Ok(Some(played)) => {
            verdict.faults = played.effects();
            verdict.grants += played.grants;
            played.add_to(tried);
            let failed = played.failed();
            verdict.findings.extend(played.declared);
            failed
        }
        Err(failed) => Some(failed.message().unwrap_or_default().to_owned()),
    }
    .map(|why| format!("faults could not be injected to the end: {why}"))
}

/// The beginning of the names of all locks of a run.
fn names(seed: u64) -> String {
    format!("dlock-verify/{seed:016x}/")
}
