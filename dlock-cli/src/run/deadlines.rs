//! Deadlines for the signals to a command whose lock is about to end.

use std::time::Duration;

use dlock::backend::Renewal;

use crate::base::{duration, exit::Failure};

/// How long before the deadline the command gets TERM, and then KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadlines {
    /// TERM is sent when renewals fail and less than this is left.
    pub(crate) grace: Duration,
    /// KILL is sent when less than this is left: time for the system to end the command before another
    /// holder enters.
    pub(crate) kill: Duration,
}

impl Deadlines {
    /// The longest default grace: what most programs need to end is seconds, however long the ttl.
    const GRACE_DEFAULT_MAX: Duration = Duration::from_secs(10);

    /// KILL comes this long before the deadline, if the ttl allows it.
    const KILL_MAX: Duration = Duration::from_millis(100);

    /// A sixth of the ttl: by then several renewals in a row have failed.
    const DEFAULT_PARTS: u32 = 6;

    /// A renewal is due when at least two thirds of the ttl are left. A grace must be shorter than the part before it,
    /// or it would cut off the tries that follow a failed one.
    const GRACE_PARTS_MIN: u32 = Renewal::DUE_PART;

    /// The deadlines for `ttl`, with the `grace` that the user has set, if any.
    pub(crate) fn new(ttl: Duration, grace: Option<Duration>) -> Result<Self, Failure> {
        let sixth = ttl / Self::DEFAULT_PARTS;
        let grace = grace.unwrap_or_else(|| sixth.min(Self::GRACE_DEFAULT_MAX));
        if grace >= ttl / Self::GRACE_PARTS_MIN && !grace.is_zero() {
            return Err(Failure::usage(format!(
                "--grace {} is too long: it must be less than ttl/{}, and the ttl is {}",
                duration::show(grace),
                Self::GRACE_PARTS_MIN,
                duration::show(ttl),
            )));
        }
        Ok(Self {
            grace,
            kill: sixth.min(Self::KILL_MAX),
        })
    }

    /// The deadlines of a lock that `lasts` that long. A store may prove it for less than the ttl, such as
    /// ZooKeeper for half of its session. A grace of a half or more would end the command at once, or before a
    /// renewal.
    pub(crate) fn within(self, lasts: Duration) -> Self {
        let sixth = lasts / Self::DEFAULT_PARTS;
        Self {
            grace: if self.grace < lasts / 2 {
                self.grace
            } else {
                sixth
            },
            kill: self.kill.min(sixth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_default_grace_is_a_sixth_of_the_ttl_but_at_most_ten_seconds() {
        let deadlines = Deadlines::new(secs(30), None).expect("deadlines");
        assert_eq!(
            deadlines,
            Deadlines {
                grace: secs(5),
                kill: Duration::from_millis(100)
            }
        );
        assert_eq!(
            Deadlines::new(secs(600), None).expect("deadlines").grace,
            secs(10)
        );
    }

    #[test]
    fn a_short_ttl_has_short_limits() {
        let deadlines = Deadlines::new(Duration::from_millis(120), None).expect("deadlines");
        let sixth = Duration::from_millis(20);
        assert_eq!(
            deadlines,
            Deadlines {
                grace: sixth,
                kill: sixth
            }
        );
    }

    #[test]
    fn a_lock_that_lasts_less_than_its_ttl_has_shorter_limits() {
        let deadlines = Deadlines::new(secs(30), None).expect("deadlines");
        assert_eq!(deadlines.within(secs(30)), deadlines);
        assert_eq!(deadlines.within(secs(11)), deadlines);
        let short = deadlines.within(secs(3));
        assert_eq!(short.grace, Duration::from_millis(500));
        assert_eq!(short.kill, deadlines.kill);
    }

    #[test]
    fn a_grace_of_a_third_is_refused() {
        assert!(Deadlines::new(secs(30), Some(Duration::from_millis(9_999))).is_ok());
        assert!(Deadlines::new(secs(30), Some(Duration::ZERO)).is_ok());
        let failure = Deadlines::new(secs(30), Some(secs(10))).expect_err("too long");
        assert_eq!(
            failure.message,
            "--grace 10s is too long: it must be less than ttl/3, and the ttl is 30s"
        );
    }

    #[test]
    fn the_longest_grace_leaves_time_for_another_try_after_the_renewal() {
        let ttl = secs(30);
        let part = ttl / Renewal::DUE_PART;
        assert!(Deadlines::new(ttl, Some(part)).is_err());
        let longest = part.saturating_sub(Duration::from_nanos(1));
        let grace = Deadlines::new(ttl, Some(longest)).expect("allowed").grace;
        let left_when_due = ttl.saturating_sub(part);
        assert!(left_when_due.saturating_sub(grace) > part);
    }
}
