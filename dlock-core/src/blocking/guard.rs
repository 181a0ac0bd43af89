//! The guard of a lock that a program without a runtime holds.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time;

use super::{handle::Handle, runtime::Runtime};
use crate::{
    backend::{attempt_id::AttemptId, lease::Lease},
    base::{cause::LostCause, error::Result, name::LockName, token::Token},
    client::guard as client,
};

/// A held lock. Dropping it releases the lock in the background; dropping the last handle of a locker waits for
/// that, see [the module](super).
///
/// The locker's thread renews the lock until the guard ends, also while the program computes.
/// [`is_held`](Self::is_held) reads the clock, so it is never true after the deadline. A resource that outlives
/// the lock is protected by the [`token`](Self::token).
///
/// A guard outlives its locker. Any thread may use and drop it.
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// let guard = locks.acquire("invoices").lock()?;
/// for _page in 0..3 {
///     guard.check()?; // stops when the lock is lost
///     println!("writing under token {}", guard.token());
/// }
/// guard.release()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a guard that is dropped releases its lock"]
pub struct Guard {
    guard: Handle<client::Guard>,
}

impl Guard {
    pub(super) fn new(guard: client::Guard, runtime: Arc<Runtime>) -> Self {
        let guard = Handle::new(guard, runtime);
        Self { guard }
    }

    pub(super) fn into_inner(self) -> client::Guard {
        self.guard.into_parts().0
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.guard.name()
    }

    /// The fencing token of this grant: larger than that of every earlier grant of this name (K5).
    #[must_use]
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// The identity of the attempt that was granted, as [`Holder`](crate::Holder) shows it.
    #[must_use]
    pub fn id(&self) -> AttemptId {
        self.guard.id()
    }

    /// The grant as the backend gave it, for what only that backend offers.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        self.guard.lease()
    }

    /// Whether the lock is held at this moment, by the clock. Once false, for ever false.
    #[must_use]
    pub fn is_held(&self) -> bool {
        if !self.guard.remaining().is_zero() {
            return true;
        }
        if !self.guard.runtime().is_of_this_process() {
            self.guard.expire_unreported();
        }
        self.guard.is_held()
    }

    /// The time that the lock is still held without a renewal: zero when it is not held, [`Duration::MAX`] where
    /// the hold has no deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// Fails with `Lost` if the lock is not held. Never blocks.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let store = Memory::new();
    /// # let locks = blocking::Locker::builder(store.clone()).build()?;
    /// let guard = locks.acquire("report").lock()?;
    /// guard.check()?;
    /// store.revoke("report");
    /// assert!(guard.check().unwrap_err().is_lost());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Lost`, with the cause.
    pub fn check(&self) -> Result<()> {
        if self.is_held() {
            return Ok(());
        }
        self.guard.check()
    }

    /// Blocks until the lock is lost, at its deadline at the latest (K8), and returns the cause. Returns `None` when
    /// `timeout` is over before, and at once in the child of a fork.
    ///
    /// ```
    /// # use dlock_core::{LostCause, blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let store = Memory::new();
    /// # let locks = blocking::Locker::builder(store.clone()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("leader").lock()?;
    /// assert_eq!(guard.wait_lost(Duration::from_millis(10)), None);
    /// std::thread::scope(|threads| {
    ///     let observer = threads.spawn(|| guard.wait_lost(Duration::MAX));
    ///     store.revoke("leader");
    ///     assert_eq!(observer.join().unwrap(), Some(LostCause::Removed));
    /// });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Blocking
    ///
    /// For at most `timeout`.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<LostCause> {
        let lost = async { Ok(time::timeout(timeout, self.guard.lost()).await.ok()) };
        self.guard.runtime().block_on(lost).unwrap_or_default()
    }

    /// Blocks until less than `left` remains because renewals fail, or until the lock is lost, and returns what
    /// remains. Returns `None` when `timeout` is over before, and at once in the child of a fork.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// // Without renewal the lock expires after its ttl.
    /// let guard = locks.acquire("report").ttl(Duration::from_millis(100)).no_renewal().lock()?;
    /// let left = guard.wait_expires_within(Duration::from_millis(20), Duration::from_secs(5));
    /// println!("{left:?} to save the work");
    /// assert!(left.is_some_and(|left| left <= Duration::from_millis(20)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Blocking
    ///
    /// For at most `timeout`.
    #[must_use]
    pub fn wait_expires_within(&self, left: Duration, timeout: Duration) -> Option<Duration> {
        let expires = async {
            let expires = time::timeout(timeout, self.guard.expires_within(left)).await;
            Ok(expires.ok().map(|()| self.remaining()))
        };
        self.guard.runtime().block_on(expires).unwrap_or_default()
    }

    /// Renews the lock now. Needed only without automatic renewal, or to be sure that the store still knows the
    /// lock.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("batch").ttl(Duration::from_secs(10)).no_renewal().lock()?;
    /// for _page in 0..3 {
    ///     // A page that hangs lets the lock expire.
    ///     guard.renew()?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [the async one](crate::Guard::renew).
    ///
    /// # Blocking
    ///
    /// For at most half of the time that remains, and 10 s.
    pub fn renew(&self) -> Result<()> {
        self.guard.runtime().block_on(self.guard.renew())
    }

    /// Releases the lock, and blocks until the store has confirmed it.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("seat/14C").lock()?;
    /// match guard.release() {
    ///     Ok(()) => println!("free again"),
    ///     Err(error) if error.is_lost() => println!("another holder may have had it: {error}"),
    ///     Err(error) => println!("free at its deadline at the latest: {error}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [the async one](crate::Guard::release).
    ///
    /// # Blocking
    ///
    /// For one try, [`RELEASE_TRY_MAX`](crate::backend::RELEASE_TRY_MAX) at most. If it is not confirmed by then, it goes
    /// on in the background. The guard of the last handle also waits as a drop does.
    pub fn release(self) -> Result<()> {
        let (guard, runtime) = self.guard.into_parts();
        runtime.block_on(guard.release())
    }
}

/// The same guard for async code, such as a backend's own functions.
impl AsRef<client::Guard> for Guard {
    fn as_ref(&self) -> &client::Guard {
        &self.guard
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.guard, f)
    }
}
