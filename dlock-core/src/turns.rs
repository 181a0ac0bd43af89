//! One at a time, and a failure is shared.
//!
//! While a server is silent, each try to connect to it takes as long as it may. Those who came while
//! one was under way do not try after it one by one: what it met is their answer too (K13).

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use tokio::sync::{Mutex, MutexGuard};

use crate::{
    clock::{Clock, Moment},
    error::{Error, Result},
};

/// A value that one at a time works on, such as the place of a connection: see the methods.
pub struct Turns<T> {
    clock: Clock,
    slot: Mutex<Slot<T>>,
}

struct Slot<T> {
    value: T,
    /// The last failure, and when it was.
    failure: Option<(Moment, Error)>,
}

/// The turn of one, who has the value meanwhile. It is ended by [`end`](Self::end); one that is
/// dropped tells the others nothing, and the next one tries.
pub struct Turn<'a, T> {
    clock: &'a Clock,
    slot: MutexGuard<'a, Slot<T>>,
}

impl<T> Turns<T> {
    /// Nobody's turn yet.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            clock: Clock::boottime(),
            slot: Mutex::new(Slot {
                value,
                failure: None,
            }),
        }
    }

    /// Waits for its turn, as long as the turns before it take.
    ///
    /// # Errors
    ///
    /// That of a turn that ended meanwhile, if it was a failure.
    ///
    /// # Cancel safety
    ///
    /// Who is dropped waits no more.
    pub async fn wait(&self) -> Result<Turn<'_, T>> {
        let came = self.clock.now();
        let slot = self.slot.lock().await;
        match &slot.failure {
            Some((at, error)) if *at >= came => Err(error.again()),
            _ => Ok(Turn {
                clock: &self.clock,
                slot,
            }),
        }
    }
}

impl<T> Turn<'_, T> {
    /// Ends the turn with its result, which is given back.
    ///
    /// # Errors
    ///
    /// That of `result`.
    pub fn end<R>(mut self, result: Result<R>) -> Result<R> {
        let failure = result.as_ref().err().map(Error::again);
        self.slot.failure = failure.map(|error| (self.clock.now(), error));
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

impl<T> fmt::Debug for Turns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Turn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn down() -> Error {
        Error::new(ErrorKind::Unavailable, "down")
    }

    #[tokio::test]
    async fn who_waited_shares_the_failure_and_who_comes_later_tries() {
        let turns = Turns::new(());
        let first = turns.wait().await.expect("its turn");
        let (waited, ended) = tokio::join!(turns.wait(), async { first.end::<()>(Err(down())) });
        assert!(ended.is_err());
        assert_eq!(waited.expect_err("shared").to_string(), "down");
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
