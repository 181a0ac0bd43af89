//! One at a time, and a failure is shared.
//!
//! While a server is silent, each try to connect to it takes as long as it may. Those who came while
//! one was under way do not try after it one by one: what it met is their answer too (K13).

use std::{
    fmt,
    future::Future,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    clock::{BootInstant, Clock},
    error::{Effect, Error, ErrorKind, Result},
};

/// A value that one at a time works on, such as the place of a connection.
pub struct SingleFlight<T> {
    clock: Clock,
    slot: Arc<Mutex<Slot<T>>>,
}

struct Slot<T> {
    value: T,
    /// The last failure, and when it was.
    failure: Option<(BootInstant, Error)>,
}

/// The turn of one, who has the value meanwhile. It is ended by [`finish`](Self::finish); one that is
/// dropped tells the others nothing, and the next one tries.
pub struct Turn<T> {
    clock: Clock,
    slot: OwnedMutexGuard<Slot<T>>,
}

impl<T: Send + 'static> SingleFlight<T> {
    /// Nobody's turn yet.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            clock: Clock::boottime(),
            slot: Arc::new(Mutex::new(Slot {
                value,
                failure: None,
            })),
        }
    }

    /// Runs `work` when it is its turn, after as long as the turns before it take. It has a time-out.
    ///
    /// It runs in a task of its own: a user may leave an acquire unpolled for as long as he likes,
    /// and nobody else shall wait for him (K13).
    ///
    /// # Errors
    ///
    /// That of a turn that ended meanwhile, if it was a failure; or that of `work`.
    ///
    /// # Cancel safety
    ///
    /// The work is done all the same.
    pub async fn run<R, W>(&self, work: impl FnOnce(Turn<T>) -> W + Send + 'static) -> Result<R>
    where
        R: Send + 'static,
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (clock, slot) = (self.clock.clone(), self.slot.clone());
        let came = clock.now();
        let task = tokio::spawn(async move {
            let slot = slot.lock_owned().await;
            match &slot.failure {
                Some((at, error)) if *at >= came => Err(error.duplicate()),
                _ => work(Turn { clock, slot }).await,
            }
        });
        let given_up = |error| {
            let why = "the work of this turn was given up";
            let error = Error::new(ErrorKind::Unavailable, why).with_source(error);
            Err(error.with_effect(Effect::Unknown))
        };
        task.await.unwrap_or_else(given_up)
    }

    /// Changes the value if it is nobody's turn at present.
    pub fn try_update(&self, change: impl FnOnce(&mut T)) {
        if let Ok(mut slot) = self.slot.try_lock() {
            change(&mut slot.value);
        }
    }
}

impl<T> Turn<T> {
    /// Ends the turn with its result, which is given back.
    ///
    /// # Errors
    ///
    /// That of `result`.
    pub fn finish<R>(mut self, result: Result<R>) -> Result<R> {
        let failure = result.as_ref().err().map(Error::duplicate);
        self.slot.failure = failure.map(|error| (self.clock.now(), error));
        result
    }
}

impl<T> Deref for Turn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.slot.value
    }
}

impl<T> DerefMut for Turn<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.slot.value
    }
}

impl<T> fmt::Debug for SingleFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

    use super::*;

    const SHORT: Duration = Duration::from_millis(10);

    async fn fails(turn: Turn<u32>) -> Result<()> {
        tokio::time::sleep(SHORT).await;
        turn.finish(Err(Error::new(ErrorKind::Unavailable, "down")))
    }

    async fn counts(mut turn: Turn<u32>) -> Result<u32> {
        tokio::time::sleep(SHORT).await;
        *turn += 1;
        let count = *turn;
        turn.finish(Ok(count))
    }

    #[tokio::test(start_paused = true)]
    async fn who_waited_shares_the_failure_and_who_comes_later_tries() {
        let turns = SingleFlight::new(0);
        let (first, waited) = tokio::join!(turns.run(fails), turns.run(counts));
        assert!(first.is_err());
        assert_eq!(waited.expect_err("shared").to_string(), "down");
        tokio::time::sleep(SHORT).await;
        assert_eq!(turns.run(counts).await.expect("its turn"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waited_for_a_success_has_its_turn() {
        let turns = SingleFlight::new(0);
        let (first, second) = tokio::join!(turns.run(counts), turns.run(counts));
        assert_eq!((first.expect("a turn"), second.expect("a turn")), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_one_that_is_not_polled() {
        let turns = SingleFlight::new(0);
        let mut unpolled = pin!(turns.run(counts));
        poll_fn(|cx| {
            assert!(unpolled.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(turns.run(counts).await.expect("its turn"), 2);
    }
}
