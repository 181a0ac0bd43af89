//! How long slices are, and when the rounds end.

use std::time::Duration;

use dlock_core::BootInstant;

/// The pause before each slice, in which the slice before it ends.
pub(crate) const SETTLE: Duration = Duration::from_millis(20);

/// How many rounds a run has at least, if its time allows.
pub(super) const ROUNDS_WANTED: usize = 30;

/// How many rounds a run has in any case: a median of fewer is none.
const ROUNDS_MIN: usize = 3;

/// The half-width of an interval that is narrow enough, as a part of its value.
pub(crate) const HALF_WIDTH_MAX: f64 = 0.03;

/// The bounds of a slice. The longer one bounds the durations in memory, too.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_MAX: Duration = Duration::from_millis(100);

/// How long a slice may take with all that belongs to it: a worker's answer alone may take half of it.
pub(super) const SLICE_MAX: Duration = Duration::from_secs(60);

/// After how many rounds the intervals are computed again.
const SETTLED_EVERY: usize = 5;

/// The time of the rounds.
pub(crate) struct Pace {
    /// The begin of the run.
    pub(super) begun: BootInstant,
    end: BootInstant,
    /// The time of a slice beyond its window, as the last round had it.
    overhead: Duration,
    /// How long the last round took.
    last: Duration,
    rounds: usize,
    window: Duration,
}

impl Pace {
    pub(crate) fn new(begun: BootInstant, end: BootInstant) -> Self {
        Self {
            begun,
            end,
            overhead: SETTLE,
            last: Duration::ZERO,
            rounds: 0,
            window: WINDOW_MAX,
        }
    }

    /// The window for a round of `count` slices that are `weight` windows long, so that the rest of the time is
    /// enough for the rounds that are wanted.
    pub(super) fn window(&mut self, count: u32, weight: f64, now: BootInstant) -> Duration {
        let left = ROUNDS_WANTED.saturating_sub(self.rounds).max(1);
        let round = self.end.since(now) / u32::try_from(left).unwrap_or(u32::MAX);
        let slices = round.saturating_sub(self.overhead * count);
        let window = slices.div_f64(weight.max(1.0));
        self.window = window.clamp(WINDOW_MIN, WINDOW_MAX);
        self.window
    }

    /// The window of the last round.
    pub(crate) fn last_window(&self) -> Duration {
        self.window
    }

    pub(super) fn ended_round(&mut self, window: Duration, weight: f64, took: Duration) {
        self.rounds += 1;
        self.last = took;
        let beyond = took.saturating_sub(window.mul_f64(weight));
        self.overhead = beyond.div_f64(weight.max(1.0));
    }

    pub(super) fn may_settle(&self, rounds: usize) -> bool {
        rounds >= ROUNDS_WANTED && rounds.is_multiple_of(SETTLED_EVERY)
    }

    /// Whether another round would end too late.
    pub(super) fn is_over(&self, rounds: usize, now: BootInstant) -> bool {
        rounds >= ROUNDS_MIN && now.after(self.last) > self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn the_time_is_shared_by_the_rounds_that_are_wanted() {
        let mut pace = Pace::new(at(0), at(180));
        let window = pace.window(50, 48.0, at(0));
        // 6 s a round, of which 1 s is settling.
        assert!((100..105).contains(&(window.as_millis() + 1)), "{window:?}");
        pace.ended_round(window, 48.0, Duration::from_secs(8));
        let shorter = pace.window(50, 48.0, at(8));
        assert!(shorter < window, "{shorter:?}");
        assert_eq!(pace.window(50, 48.0, at(180)), WINDOW_MIN);
    }

    #[test]
    fn rounds_end_in_time_and_not_before_there_are_some() {
        let mut pace = Pace::new(at(0), at(10));
        pace.ended_round(WINDOW_MAX, 10.0, Duration::from_secs(4));
        assert!(!pace.is_over(3, at(5)) && pace.is_over(3, at(7)));
        assert!(!pace.is_over(2, at(20)));
        assert!(!pace.may_settle(25) && pace.may_settle(30) && !pace.may_settle(31));
    }
}
