//! The names of the locks of a verification: to remove what is left of them.

use std::collections::BTreeSet;

use dlock::LockName;
use dlock_core::toolkit::Lock;

/// All names that were requested so far.
#[derive(Debug, Default)]
pub(crate) struct Names(Lock<BTreeSet<LockName>>);

impl Names {
    /// A lock is about to be requested, here or by another process.
    pub(crate) fn add(&self, name: &LockName) {
        self.0.lock().insert(name.clone());
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<LockName> {
        self.0.lock().iter().cloned().collect()
    }
}
