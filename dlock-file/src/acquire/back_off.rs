//! The pauses between tries after an event.

use std::time::Duration;

/// The pauses, 50 ms in all. The kernel reports that a file was closed just before it frees the lock (seen at 1 of
/// 200 kills). An inspection may have it locked, too.
const PAUSES: [Duration; 8] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(3),
    Duration::from_millis(5),
    Duration::from_millis(7),
    Duration::from_millis(9),
    Duration::from_millis(11),
    Duration::from_millis(12),
];

/// The back-off of one acquire.
#[derive(Debug, Default)]
pub(crate) struct BackOff(usize);

impl BackOff {
    /// The next pause; `None` after the last one.
    pub(crate) fn next_pause(&mut self) -> Option<Duration> {
        let pause = self.peek();
        self.skip();
        pause
    }

    /// The next pause, without counting it.
    pub(crate) fn peek(&self) -> Option<Duration> {
        PAUSES.get(self.0).copied()
    }

    /// Counts a pause that has ended.
    pub(crate) fn skip(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// Begins again, after an event.
    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::RECHECK_EVERY;

    #[test]
    fn the_back_off_is_short_and_bounded() {
        let whole: Duration = PAUSES.iter().sum();
        assert_eq!(whole, Duration::from_millis(50));
        assert!(PAUSES.iter().is_sorted() && whole < RECHECK_EVERY);
    }
}
