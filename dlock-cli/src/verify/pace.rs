//! Pacing of requests: a server gets no more than a bounded number of them in a second.

use std::time::Duration;

use dlock::{BootInstant, Clock};
use dlock_core::toolkit::Lock;

/// Gives each call its time.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Clock,
    /// The time between two calls.
    every: Duration,
    /// The time of the next call.
    next: Lock<BootInstant>,
}

impl Pace {
    /// A pace of at most `calls` in a second.
    pub(crate) fn new(calls: u32) -> Self {
        let clock = Clock::boottime();
        Self {
            every: Duration::from_secs(1) / calls,
            next: Lock::new(clock.now()),
            clock,
        }
    }

    /// Waits for the turn of a call.
    ///
    /// # Cancel safety
    ///
    /// The turn is used up.
    pub(crate) async fn turn(&self) {
        tokio::time::sleep(self.take()).await;
    }

    /// Takes the next turn for a call that may not wait: a renewal or a release. Later calls wait for it.
    pub(crate) fn ahead(&self) {
        self.take();
    }

    /// Waits until a call would have its turn within `max`. Takes none.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing has changed.
    pub(crate) async fn room(&self, max: Duration) {
        loop {
            let over = self.backlog().saturating_sub(max);
            if over.is_zero() {
                return;
            }
            tokio::time::sleep(over).await;
        }
    }

    /// How long a call would wait for its turn now.
    fn backlog(&self) -> Duration {
        self.next.lock().since(self.clock.now())
    }

    /// How long it is until the next turn, which is taken.
    fn take(&self) -> Duration {
        let (now, mut next) = (self.clock.now(), self.next.lock());
        let turn = (*next).max(now);
        *next = turn.after(self.every);
        turn.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_have_their_distance() {
        let pace = Pace::new(10);
        let first = pace.take();
        pace.ahead();
        let third = pace.take();
        assert_eq!(first, Duration::ZERO);
        assert!(third > Duration::from_millis(190), "{third:?}");
        assert!(third <= Duration::from_millis(200), "{third:?}");
        let backlog = pace.backlog();
        assert!(backlog > Duration::from_millis(290), "{backlog:?}");
        assert!(backlog <= Duration::from_millis(300), "{backlog:?}");
    }

    #[tokio::test]
    async fn there_is_room_when_the_calls_before_had_their_turns() {
        let (pace, clock) = (Pace::new(10), Clock::boottime());
        let start = clock.now();
        pace.room(Duration::ZERO).await;
        for _ in 0..3 {
            pace.ahead();
        }
        pace.room(Duration::from_millis(100)).await;
        let waited = clock.now().since(start);
        assert!(waited >= Duration::from_millis(199), "{waited:?}");
    }
}
