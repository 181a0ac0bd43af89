//! Single-flight execution: callers that wait for a failed attempt receive its error.
//!
//! While a server is silent, each try to connect to it takes as long as its time-out. Callers that came
//! while one was under way do not try after it one by one: they get its error (K13).

use std::{
    fmt,
    future::Future,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::base::{
    clock::{BootInstant, Clock},
    error::{Effect, Error, ErrorKind, Result},
};

/// A value that one caller at a time works on, such as a connection and the work of making it.
///
/// ```
/// use dlock_core::{toolkit::{SingleFlight, Turn}, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let connection = SingleFlight::new(None);
/// let connect = |mut turn: Turn<Option<u32>>| async move {
///     // Callers that waited for a turn that succeeded find its value.
///     let number = *turn.get_or_insert(7);
///     turn.finish(Ok(number))
/// };
/// assert_eq!(connection.run(connect).await?, 7);
/// # Ok(())
/// # }
/// ```
pub struct SingleFlight<T> {
    clock: Clock,
    slot: Arc<Mutex<Slot<T>>>,
}

struct Slot<T> {
    value: T,
    /// The last failure, and when it was.
    failure: Option<(BootInstant, Error)>,
}

/// The turn of one caller, with access to the value.
///
/// [`finish`](Self::finish) ends it. A turn that is dropped shares no result, and the next caller tries.
pub struct Turn<T> {
    clock: Clock,
    slot: OwnedMutexGuard<Slot<T>>,
}

impl<T: Send + 'static> SingleFlight<T> {
    /// A value that no caller works on yet.
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

    /// Runs `work` in its turn, after the turns before it. `work` has a time-out of its own.
    ///
    /// It runs in a task of its own. A user may leave an acquire unpolled for any time, and other callers must not
    /// wait for that (K13).
    ///
    /// # Errors
    ///
    /// That of an earlier turn that ended during the wait, if it was a failure; or that of `work`.
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
            let why = "the shared operation was cancelled";
            let error = Error::new(ErrorKind::Unavailable, why).with_source(error);
            Err(error.with_effect(Effect::Unknown))
        };
        task.await.unwrap_or_else(given_up)
    }

    /// Changes the value if no caller has its turn at present.
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
    async fn a_waiting_caller_shares_the_failure_and_a_later_one_tries() {
        let turns = SingleFlight::new(0);
        let (first, waited) = tokio::join!(turns.run(fails), turns.run(counts));
        assert!(first.is_err());
        assert_eq!(waited.expect_err("shared").to_string(), "down");
        tokio::time::sleep(SHORT).await;
        assert_eq!(turns.run(counts).await.expect("its turn"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_waited_for_a_success_has_its_turn() {
        let turns = SingleFlight::new(0);
        let (first, second) = tokio::join!(turns.run(counts), turns.run(counts));
        assert_eq!((first.expect("a turn"), second.expect("a turn")), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn no_caller_waits_for_one_that_is_not_polled() {
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
