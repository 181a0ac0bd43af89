//! The clauses of the contract on the user's store: the cases of the suite, several at once.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use conformance_tests::{CaseFailure, SuiteCase, cases};
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
    undecided::{Lag, too_slow, undecided},
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
    let clock = Clock::boottime();
    // The time since which the next case waits to begin.
    let begin = clock.now();
    let mut since = begin;
    let lag = Arc::new(Lag::measured());
    let connections_left = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let mut running = JoinSet::new();
    for case in cases {
        let wanted = connections(subject.capabilities.backend, case.size());
        let stopped = stopped(stop.clone(), end);
        let is_over = clock.now() >= end;
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
        if permit.is_some() {
            since = clock.now();
        }
        let stopped = self::stopped(stop.clone(), end);
        let (progress, lag) = (progress.clone(), lag.clone());
        let tried = tried.iter().find(|tried| tried.clause == case.clause());
        let meter = tried.map(|tried| tried.meter.clone()).unwrap_or_default();
        running.spawn_blocking(move || {
            let results = match &permit {
                Some(_) => results(&case, stopped, &meter, &lag),
                None => vec![(case.clause(), not_tried(&case))],
            };
            progress.case_done();
            (since, results)
        });
    }
    let mut ended = Vec::new();
    while let Some(done) = running.join_next().await {
        ended.extend(done);
    }
    note(&mut tried, ended, begin, &lag, stop);
    tried
}

/// The results of cases, each with the time since which its case ran, or waited to begin.
type Ended = Vec<(BootInstant, Vec<(Clause, CaseResult)>)>;

/// Adds the results to their clauses. What the silence of the store took the time of is unknown.
fn note(tried: &mut [Tried], ended: Ended, begin: BootInstant, lag: &Lag, stop: &Stop) {
    let meters: Vec<_> = tried.iter().map(|tried| tried.meter.clone()).collect();
    // A store that does not answer any more was silent for the cases that began since, too.
    let answers = meters.iter().filter_map(|meter| meter.answered());
    let answered = answers.max().unwrap_or(begin);
    for (since, results) in ended {
        let since = since.min(answered);
        let silences = meters.iter().map(|meter| meter.silence_since(since));
        let silence = silences.max().flatten().filter(|_| stop.signal().is_none());
        for (clause, mut result) in results {
            if let Some(silence) = silence {
                spoilt(&mut result, silence, lag.since(since));
            }
            if let Some(tried) = tried.iter_mut().find(|tried| tried.clause == clause) {
                tried.cases.push(result);
            }
        }
    }
}

fn not_tried(case: &SuiteCase) -> CaseResult {
    CaseResult::new(case.name(), Verdict::NotTried, NO_TIME)
}

/// A case that the time did not suffice for, because the store was silent or this machine too slow, is unknown.
fn spoilt(result: &mut CaseResult, silence: Duration, lag: Option<Duration>) {
    if result.verdict == Verdict::NotTried {
        result.verdict = Verdict::Unknown;
        result.why = match lag {
            Some(lag) => too_slow(lag),
            None => format!("the store did not answer for {silence:.1?}"),
        };
    }
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

/// The results of a case: that of its own clause, and those of further clauses that its history violates.
fn results(
    case: &SuiteCase,
    stopped: impl Future<Output = ()>,
    meter: &Meter,
    lag: &Lag,
) -> Vec<(Clause, CaseResult)> {
    let start = Clock::boottime().now();
    // A case may panic instead of failing.
    let ended = catch_unwind(AssertUnwindSafe(|| case.run_until(stopped)));
    let failure = match ended.unwrap_or_else(|_| Some(Err(CaseFailure::new("it panicked")))) {
        None => return vec![(case.clause(), not_tried(case))],
        Some(Ok(())) => return vec![(case.clause(), held(case))],
        Some(Err(failure)) => failure,
    };
    let why = failure
        .why
        .message()
        .unwrap_or("it failed without a reason");
    let silent = meter.silent_since(start);
    let (silent, lag) = (silent.as_deref(), lag.since(start));
    let failed = |clause| match undecided(clause, why, is_late(&failure.why), silent, lag) {
        Some(reason) => CaseResult::new(case.name(), Verdict::Unknown, format!("{reason} ({why})")),
        None => CaseResult::new(case.name(), Verdict::Fails, why),
    };
    let broken = failure.clauses_or(case.clause());
    let mut results: Vec<_> = broken
        .iter()
        .map(|clause| (*clause, failed(*clause)))
        .collect();
    if !broken.contains(&case.clause()) {
        // The whole history was checked: nothing in it violates the clause.
        results.push((case.clause(), held(case)));
    }
    results
}

fn held(case: &SuiteCase) -> CaseResult {
    CaseResult::new(case.name(), Verdict::Holds, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_case_without_a_result_is_spoilt_by_silence() {
        let silence = Duration::from_secs(12);
        for (before, after) in [
            (Verdict::NotTried, Verdict::Unknown),
            (Verdict::Holds, Verdict::Holds),
            (Verdict::Fails, Verdict::Fails),
        ] {
            let mut result = CaseResult::new("case", before, "");
            spoilt(&mut result, silence, None);
            assert_eq!(result.verdict, after);
        }
    }
}
