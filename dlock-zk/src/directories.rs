//! Which directories of locks are written to.
//!
//! The transaction that makes a node writes to its directory, too: the answer says how many nodes there
//! are, and one that is alone need not ask for the queue. A directory that has data, or whose owner lets
//! nobody write, is left as it is.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// More are forgotten, and looked at again.
const KNOWN_MAX: usize = 10_000;

/// Whether each of them may be written to, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct Directories(Mutex<HashMap<String, bool>>);

impl Directories {
    /// Whether it may be; `None` for one that was not looked at.
    pub(crate) fn may_write(&self, directory: &str) -> Option<bool> {
        self.known().get(directory).copied()
    }

    pub(crate) fn learn(&self, directory: &str, may_write: bool) {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(directory.to_owned(), may_write);
    }

    /// It was removed: the next one of this name is another.
    pub(crate) fn forget(&self, directory: &str) {
        self.known().remove(directory);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_known() {
        let directories = Directories::default();
        for at in 0..=KNOWN_MAX {
            directories.learn(&format!("/{at}"), true);
        }
        assert_eq!(directories.may_write("/0"), None);
        let last = format!("/{KNOWN_MAX}");
        assert_eq!(directories.may_write(&last), Some(true));
        directories.forget(&last);
        assert_eq!(directories.may_write(&last), None);
    }
}
