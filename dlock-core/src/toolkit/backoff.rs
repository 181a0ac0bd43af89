//! Pauses between tries of a request that failed.

use std::time::Duration;

/// Pauses that double: from 50 ms to 1 s by default.
///
/// A server that restarts is tried again soon, and one that is down for long once a second.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::toolkit::Backoff;
///
/// let mut backoff = Backoff::new();
/// assert_eq!(backoff.next_pause(), Duration::from_millis(50));
/// assert_eq!(backoff.next_pause(), Duration::from_millis(100));
/// // After a success the next failure is retried soon again.
/// backoff.reset();
/// assert_eq!(backoff.next_pause(), Duration::from_millis(50));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    next: Duration,
    min: Duration,
    max: Duration,
}

impl Backoff {
    /// The first pause by default: a server that restarts is often back within it.
    pub const MIN: Duration = Duration::from_millis(50);

    /// The longest pause by default: a waiter notices a server that is back within it.
    pub const MAX: Duration = Duration::from_secs(1);

    /// Pauses from [`MIN`](Self::MIN) to [`MAX`](Self::MAX).
    #[must_use]
    pub const fn new() -> Self {
        Self::between(Self::MIN, Self::MAX)
    }

    /// Pauses from `min` to `max`.
    #[must_use]
    pub const fn between(min: Duration, max: Duration) -> Self {
        Self {
            next: min,
            min,
            max,
        }
    }

    /// The pause before the next try.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next.min(self.max);
        self.next = pause.saturating_mul(2).min(self.max);
        pause
    }

    /// Begins with the shortest pause again, after a success.
    pub fn reset(&mut self) {
        self.next = self.min;
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new();
        let pauses: Vec<_> = (0..7).map(|_| backoff.next_pause().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1_000, 1_000]);
        backoff.reset();
        assert_eq!(backoff.next_pause(), Backoff::MIN);
    }

    #[test]
    fn the_bounds_hold_and_nothing_overflows() {
        let day = Duration::from_secs(86_400);
        let mut swapped = Backoff::between(day, Duration::ZERO);
        assert_eq!(swapped.next_pause(), Duration::ZERO);
        let mut endless = Backoff::between(Duration::MAX, Duration::MAX);
        assert_eq!(
            [endless.next_pause(), endless.next_pause()],
            [Duration::MAX; 2]
        );
    }
}
