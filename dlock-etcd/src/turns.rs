//! One at a time, and a failure is shared.
//!
//! While a server is silent, each try to connect to it takes as long as it may. Those who came while
//! one was under way do not try after it one by one: what it met is their answer too (K13).

use std::ops::{Deref, DerefMut};

use dlock_core::{Clock, Error, ErrorKind, Moment, Result};
use tokio::sync::{Mutex, MutexGuard};

/// A value that one at a time works on.
pub(crate) struct Turns<T> {
    clock: Clock,
    slot: Mutex<Slot<T>>,
}

struct Slot<T> {
    value: T,
    failure: Option<Failure>,
}

/// The last failure; an error cannot be copied.
struct Failure {
    at: Moment,
    kind: ErrorKind,
    why: String,
}

/// The turn of one.
pub(crate) struct Turn<'a, T> {
    clock: &'a Clock,
    slot: MutexGuard<'a, Slot<T>>,
}

impl<T> Turns<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            clock: Clock::boottime(),
            slot: Mutex::new(Slot {
                value,
                failure: None,
            }),
        }
    }

    /// Waits for its turn, or fails as one did whose turn ended meanwhile.
    pub(crate) async fn wait(&self) -> Result<Turn<'_, T>> {
        let came = self.clock.now();
        let slot = self.slot.lock().await;
        match &slot.failure {
            Some(failure) if failure.at >= came => {
                Err(Error::new(failure.kind, failure.why.clone()))
            }
            _ => Ok(Turn {
                clock: &self.clock,
                slot,
            }),
        }
    }
}

impl<T> Turn<'_, T> {
    /// Ends the turn with its result.
    pub(crate) fn end<R>(mut self, result: Result<R>) -> Result<R> {
        self.slot.failure = result.as_ref().err().map(|error| Failure {
            at: self.clock.now(),
            kind: error.kind(),
            why: error.to_string(),
        });
        result
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.slot.value
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.slot.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down() -> Error {
        Error::new(ErrorKind::Unavailable, "down")
    }

    #[tokio::test]
    async fn who_waited_shares_the_failure_and_who_comes_later_tries() {
        let turns = Turns::new(());
        let first = turns.wait().await.expect("its turn");
        let (waited, ended) = tokio::join!(turns.wait(), async { first.end::<()>(Err(down())) });
        assert!(ended.is_err());
        assert_eq!(waited.err().expect("shared").to_string(), "down");
        assert!(turns.wait().await.is_ok());
    }

    #[tokio::test]
    async fn who_waited_for_a_success_has_its_turn() {
        let turns = Turns::new(1);
        let mut first = turns.wait().await.expect("its turn");
        *first += 1;
        let (waited, ended) = tokio::join!(turns.wait(), async { first.end(Ok(())) });
        ended.expect("a success");
        assert_eq!(*waited.expect("its turn"), 2);
    }
}
