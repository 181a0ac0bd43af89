//! Signals that are one request: `timeout` signals a program and then its group, so that the program gets two.

use std::time::Duration;

use dlock::BootInstant;

/// A second signal within this time of the first one counts as the same.
const SAME_WITHIN: Duration = Duration::from_millis(500);

/// When the first signal came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repeat(Option<BootInstant>);

/// How a signal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The first one: stop, and clean up.
    First,
    /// The first one once more.
    Same,
    /// A second request: end at once.
    Second,
}

impl Repeat {
    /// Counts a signal that comes `now`.
    pub(crate) fn count(&mut self, now: BootInstant) -> Counts {
        match self.0 {
            None => {
                self.0 = Some(now);
                Counts::First
            }
            Some(first) if now.since(first) < SAME_WITHIN => Counts::Same,
            Some(_) => Counts::Second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_signals_within_a_moment_are_one() {
        let at = |millis: u64| BootInstant::from_nanos(millis * 1_000_000);
        let mut repeat = Repeat::default();
        assert_eq!(repeat.count(at(1_000)), Counts::First);
        assert_eq!(repeat.count(at(1_000)), Counts::Same);
        assert_eq!(repeat.count(at(1_499)), Counts::Same);
        // Counted from the first one, so that many of them end it.
        assert_eq!(repeat.count(at(1_500)), Counts::Second);
    }
}
