//! Several locks as one, in a program without a runtime.

use std::{slice, sync::Arc, time::Duration, vec};

use tokio::time;

use super::{guard::Guard, runtime::Runtime};
use crate::{
    base::{cause::LostCause, error::Result, name::LockName},
    client::acquire_all::{self as client, lost_below},
};

/// Several held locks, sorted by name: all of the names, or at least as many as were
/// [needed](super::AcquireAll::need). Dropping the set releases them all in the background.
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// let guards = locks.acquire_all(["account/7", "account/3"]).lock()?;
/// for guard in &guards {
///     println!("{} is held under token {}", guard.name(), guard.token());
/// }
/// assert!(guards.get("account/3").is_some());
/// guards.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "guards that are dropped release their locks"]
pub struct GuardSet {
    guards: Vec<Guard>,
    need: usize,
    runtime: Arc<Runtime>,
}

impl GuardSet {
    pub(super) fn new(guards: client::GuardSet, runtime: Arc<Runtime>) -> Self {
        let need = guards.need();
        let guards = guards.into_iter();
        Self {
            need,
            guards: guards
                .map(|guard| Guard::new(guard, runtime.clone()))
                .collect(),
            runtime,
        }
    }

    /// The guards, sorted by name.
    pub fn iter(&self) -> slice::Iter<'_, Guard> {
        self.guards.iter()
    }

    /// The guard of `name`, if it is in the set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Guard> {
        self.iter().find(|guard| guard.name().as_str() == name)
    }

    /// Whether as many locks are held at this moment as are needed: all, or those of [`need`](super::AcquireAll::need).
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.check().is_ok()
    }

    /// Fails with `Lost` if fewer locks are held than are needed.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let store = Memory::new();
    /// # let locks = blocking::Locker::builder(store.clone()).build()?;
    /// let guards = locks.acquire_all(["account/3", "account/7"]).lock()?;
    /// guards.check()?;
    /// store.revoke("account/7");
    /// assert!(guards.check().unwrap_err().is_lost());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Lost`, of the first that is not held, if fewer are held than are needed.
    pub fn check(&self) -> Result<()> {
        client::check(self.iter().map(Guard::check), self.need)
    }

    /// Blocks until fewer locks are held than are needed, and returns the name and the cause of the last loss. Returns
    /// `None` when `timeout` is over before.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let store = Memory::new();
    /// # let locks = blocking::Locker::builder(store.clone()).build()?;
    /// use std::time::Duration;
    ///
    /// let guards = locks.acquire_all(["account/3", "account/7"]).lock()?;
    /// assert!(guards.wait_lost(Duration::from_millis(10)).is_none());
    /// store.revoke("account/7");
    /// let (name, _cause) = guards.wait_lost(Duration::from_secs(5)).expect("lost");
    /// assert_eq!(name.as_str(), "account/7");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Blocking
    ///
    /// For at most `timeout`.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<(LockName, LostCause)> {
        let lost = async {
            let lost = lost_below(self.iter().map(AsRef::as_ref), self.need);
            Ok(time::timeout(timeout, lost).await.ok())
        };
        self.runtime.block_on(lost).unwrap_or_default()
    }

    /// Releases all locks of the set, and blocks until the store has confirmed it.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// locks.acquire_all(["account/7", "account/3"]).lock()?.release()?;
    /// assert!(locks.try_acquire("account/3").lock()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Guard::release`], of the first that failed; the others are released in the background.
    ///
    /// # Blocking
    ///
    /// As [`Guard::release`], for each lock of the set.
    pub fn release(self) -> Result<()> {
        let Self {
            guards,
            need,
            runtime,
        } = self;
        let guards = guards.into_iter().map(Guard::into_inner).collect();
        runtime.block_on(client::GuardSet::from_sorted(guards, need).release())
    }
}

/// Takes the set apart: each guard is released by itself.
impl IntoIterator for GuardSet {
    type Item = Guard;
    type IntoIter = vec::IntoIter<Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.guards.into_iter()
    }
}

impl<'a> IntoIterator for &'a GuardSet {
    type Item = &'a Guard;
    type IntoIter = slice::Iter<'a, Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
