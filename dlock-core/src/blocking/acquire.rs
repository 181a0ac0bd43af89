//! A blocking acquire of one lock, before it begins.

use std::{sync::Arc, time::Duration};

use super::{
    guard::Guard,
    handle::Handle,
    options::{no_renewal, setters, wait_setters},
    runtime::Runtime,
};
use crate::{
    base::error::{Error, Result},
    client::acquire as client,
};

/// An acquire that blocks while the lock is taken: made by [`Locker::acquire`](super::Locker::acquire), run by
/// [`lock`](Self::lock) or [`scope`](Self::scope).
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// use std::time::Duration;
///
/// let guard = locks
///     .acquire("seat/14C")
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(2))
///     .note("checkout 77")
///     .lock()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing until `lock` is called"]
pub struct Acquire {
    acquire: Handle<client::Acquire>,
}

impl Acquire {
    pub(super) fn new(acquire: client::Acquire, runtime: Arc<Runtime>) -> Self {
        let acquire = Handle::new(acquire, runtime);
        Self { acquire }
    }

    setters!(Acquire);
    wait_setters!();
    no_renewal!();

    /// Takes the lock, and blocks until it is granted or the wait is over.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("report").lock()?;
    /// let error = locks.acquire("report").wait(Duration::from_millis(10)).lock().unwrap_err();
    /// assert!(error.is_contended());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Locker::acquire`](crate::Locker::acquire).
    ///
    /// # Blocking
    ///
    /// For at most the wait; without one, for the locker's default wait.
    pub fn lock(self) -> Result<Guard> {
        let (acquire, runtime) = self.acquire.into_parts();
        let guard = runtime.block_on(acquire.into_future())?;
        Ok(Guard::new(guard, runtime))
    }

    /// Takes the lock, runs `body`, and always releases the lock, also when `body` panics.
    ///
    /// A loss cannot stop `body`, in contrast to [the async one](crate::Acquire::scope). A long `body` calls
    /// [`Guard::check`] between its steps.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let acquire = locks.acquire("seat/14C").wait(Duration::from_secs(2));
    /// let token = acquire.scope(|guard| Ok::<_, dlock_core::Error>(guard.token()))?;
    /// // The lock is released again.
    /// assert!(locks.acquire("seat/14C").lock()?.token() > token);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Why the lock was not granted; the error of `body`; `Lost` when the lock was lost before `body` ended. Once `body`
    /// has ended while the lock was held, its value is returned: a release that fails goes on in the background.
    ///
    /// # Blocking
    ///
    /// As [`lock`](Self::lock), `body`, and [`Guard::release`].
    pub fn scope<T, E>(self, body: impl FnOnce(&Guard) -> Result<T, E>) -> Result<T, E>
    where
        E: From<Error>,
    {
        let guard = self.lock()?;
        let ended = body(&guard);
        let released = guard.release();
        let value = ended?;
        match released {
            Err(error) if error.is_lost() => Err(error.into()),
            _ => Ok(value),
        }
    }
}

/// An acquire that does not wait for the holder: made by [`Locker::try_acquire`](super::Locker::try_acquire), run
/// by [`lock`](Self::lock).
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// let job = locks.try_acquire("nightly-report").note("cron on web-3");
/// let Some(guard) = job.lock()? else {
///     println!("another process does it");
///     return Ok(());
/// };
/// guard.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing until `lock` is called"]
pub struct TryAcquire {
    acquire: Handle<client::TryAcquire>,
}

impl TryAcquire {
    pub(super) fn new(acquire: client::TryAcquire, runtime: Arc<Runtime>) -> Self {
        let acquire = Handle::new(acquire, runtime);
        Self { acquire }
    }

    setters!(TryAcquire);
    no_renewal!();

    /// Takes the lock if it is free, else returns `None`.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let first = locks.try_acquire("report").lock()?;
    /// assert!(first.is_some());
    /// assert!(locks.try_acquire("report").lock()?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Locker::try_acquire`](crate::Locker::try_acquire).
    ///
    /// # Blocking
    ///
    /// For one request to the store, and for the ttl at most.
    pub fn lock(self) -> Result<Option<Guard>> {
        let (acquire, runtime) = self.acquire.into_parts();
        let guard = runtime.block_on(acquire.into_future())?;
        Ok(guard.map(|guard| Guard::new(guard, runtime)))
    }
}
