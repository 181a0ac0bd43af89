//! An in-memory mutex without poisoning.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A mutex for data in memory that stays usable after a panic.
///
/// std's mutex refuses its data once a thread has panicked while it held it. The tables of a backend
/// must be readable even then: a guard is still to be released, and a loss still to be reported (K8).
/// So each critical section leaves its data whole at every statement that can panic.
///
/// It blocks the thread: nothing is awaited while it is held.
///
/// ```
/// use std::collections::HashMap;
///
/// use dlock_core::toolkit::Lock;
///
/// let holds = Lock::new(HashMap::new());
/// holds.lock().insert("seat/14C", 77);
/// assert_eq!(holds.lock().get("seat/14C"), Some(&77));
/// ```
#[derive(Default)]
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// A free mutex around `value`.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits until no other thread holds it, and gives access until the result is dropped.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, without the mutex.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("Lock");
        match self.0.try_lock() {
            Ok(value) => debug.field(&*value),
            Err(_) => debug.field(&format_args!("<locked>")),
        };
        debug.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_while_it_is_held_does_not_poison_it() {
        let count = Lock::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut count = count.lock();
            *count += 1;
            panic!("while it is held");
        }));
        assert!(panicked.is_err());
        assert_eq!(*count.lock(), 2);
        assert_eq!(count.into_inner(), 2);
    }

    #[test]
    fn debug_does_not_wait_for_the_holder() {
        let value = Lock::new(7);
        assert_eq!(format!("{value:?}"), "Lock(7)");
        let _held = value.lock();
        assert_eq!(format!("{value:?}"), "Lock(<locked>)");
    }
}
