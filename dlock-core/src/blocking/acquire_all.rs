//! A blocking acquire of several locks, before it begins.

use std::{sync::Arc, time::Duration};

use super::{
    guard_set::GuardSet,
    handle::Handle,
    options::{setters, wait_setters},
    runtime::Runtime,
};
use crate::{base::error::Result, client::acquire_all as client};

/// An acquire of several locks, all or none, or as many as [are needed](Self::need): made by [`Locker::acquire_all`](super::Locker::acquire_all), run by
/// [`lock`](Self::lock).
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// use std::time::Duration;
///
/// let names = ["account/3", "account/7"];
/// let guards = locks.acquire_all(names).wait(Duration::from_secs(2)).lock()?;
/// guards.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing until `lock` is called"]
pub struct AcquireAll {
    acquire: Handle<client::AcquireAll>,
}

impl AcquireAll {
    pub(super) fn new(acquire: client::AcquireAll, runtime: Arc<Runtime>) -> Self {
        let acquire = Handle::new(acquire, runtime);
        Self { acquire }
    }

    setters!(AcquireAll);
    wait_setters!();

    /// Sets how many of the locks are enough, as [`need`](crate::AcquireAll::need).
    pub fn need(mut self, need: usize) -> Self {
        self.acquire = self.acquire.map(|acquire| acquire.need(need));
        self
    }

    /// Takes the locks, and blocks until all are granted, or as many as are needed, or the wait is over.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let guards = locks.acquire_all(["account/7", "account/3"]).lock()?;
    /// assert!(guards.is_held());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Locker::acquire_all`](crate::Locker::acquire_all).
    ///
    /// # Blocking
    ///
    /// For at most the wait, which is one limit for all of them; without one, for the locker's default wait.
    pub fn lock(self) -> Result<GuardSet> {
        let (acquire, runtime) = self.acquire.into_parts();
        let guards = runtime.block_on(acquire.into_future())?;
        Ok(GuardSet::new(guards, runtime))
    }
}
