//! Why a case that failed proves nothing: the store gave no answer, or this machine was too slow.

use std::{sync::Arc, time::Duration};

use dlock::{BootInstant, Clock};
use dlock_core::toolkit::Lock;
use dlock_verify::{
    chaos::{LAG_MAX, Watchdog},
    verdict::Clause,
};

/// The clauses that say what is never granted: a slow store or machine breaks none of them.
const SAFETY: [Clause; 2] = [Clause::K1, Clause::K5];

/// The clauses that promise a time: to be granted or refused within it, and to report a loss.
const IN_TIME: [Clause; 2] = [Clause::K6, Clause::K8];

/// Measures how late this machine is, for all cases.
#[derive(Debug)]
pub(crate) struct Lag {
    watchdog: Watchdog,
    /// The lags that spoil times, with their ends.
    long: Arc<Lock<Vec<(BootInstant, Duration)>>>,
}

impl Lag {
    /// Begins to measure, until this is dropped.
    pub(crate) fn measured() -> Self {
        let long = Arc::<Lock<Vec<_>>>::default();
        let kept = long.clone();
        let watchdog = Watchdog::start(move |nanos| {
            let lag = Duration::from_nanos(nanos);
            if lag > LAG_MAX {
                kept.lock().push((Clock::boottime().now(), lag));
            }
        });
        Self { watchdog, long }
    }

    /// The longest lag after `start` that spoils times.
    pub(crate) fn since(&self, start: BootInstant) -> Option<Duration> {
        let long = self.long.lock();
        let ended = long.iter().filter(|(end, _)| *end >= start);
        let ended = ended.map(|(_, lag)| *lag);
        let all = ended.chain([self.watchdog.late()]);
        all.max().filter(|lag| *lag > LAG_MAX)
    }
}

/// Why a case of `clause` that failed, `why`, decides nothing, if that is so.
///
/// `is_late` is whether something did not come in time, `silent` is why the store did not answer a call of it, and `lag`
/// is how late this machine was.
pub(crate) fn undecided(
    clause: Clause,
    why: &str,
    is_late: bool,
    silent: Option<&str>,
    lag: Option<Duration>,
) -> Option<String> {
    // Only a case that ended by the error itself.
    let is_wrong = !is_late && !silent.is_some_and(|error| why.contains(error));
    if SAFETY.contains(&clause) && is_wrong {
        return None;
    }
    if let Some(error) = silent {
        return Some(format!("the store did not answer: {error}"));
    }
    if let Some(lag) = lag {
        return Some(too_slow(lag));
    }
    let is_open = is_late && !IN_TIME.contains(&clause);
    is_open.then(|| "no answer in time".to_owned())
}

/// The words for a machine that was `lag` late.
pub(crate) fn too_slow(lag: Duration) -> String {
    format!("this machine was too slow, by {lag:.0?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: bool = true;
    const WRONG: bool = false;
    const SILENT: Option<&str> = Some("gone");
    const LAG: Option<Duration> = Some(Duration::from_secs(1));

    fn of(clause: Clause, is_late: bool, silent: Option<&str>, lag: Option<Duration>) -> bool {
        undecided(clause, "held twice", is_late, silent, lag).is_some()
    }

    #[test]
    fn a_late_reply_decides_only_where_a_time_is_promised() {
        for clause in Clause::ALL {
            let decides = !of(clause, LATE, None, None);
            assert_eq!(decides, IN_TIME.contains(&clause), "{clause}");
            assert!(of(clause, LATE, None, LAG), "{clause}");
            assert!(of(clause, LATE, SILENT, None), "{clause}");
        }
    }

    #[test]
    fn a_wrong_reply_decides_unless_the_store_or_the_machine_failed_and_always_for_safety() {
        for clause in Clause::ALL {
            assert!(!of(clause, WRONG, None, None), "{clause}");
            let is_safety = SAFETY.contains(&clause);
            assert_eq!(!of(clause, WRONG, SILENT, None), is_safety, "{clause}");
            assert_eq!(!of(clause, WRONG, None, LAG), is_safety, "{clause}");
            // The case ended by the error.
            let ended = undecided(clause, "cannot acquire \"a\": gone", WRONG, SILENT, None);
            assert!(ended.is_some(), "{clause}");
        }
    }

    #[test]
    fn only_a_long_lag_that_ended_after_the_begin_counts() {
        let (lag, now) = (Lag::measured(), Clock::boottime().now());
        let long = LAG_MAX * 100;
        let start = now.after(long);
        lag.long.lock().push((now, long * 2));
        lag.long.lock().push((start.after(LAG_MAX), long));
        assert_eq!(lag.since(start), Some(long));
    }
}
