//! The guard of a held lock.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use crate::{
    backend::{attempt_id::AttemptId, lease::Lease},
    base::{
        clock::BootInstant,
        error::{Error, Result},
        name::LockName,
        token::Token,
    },
    client::lost::{ExpiresWithin, Lost},
    engine::{hold::Hold, in_flight::InFlightGuard, shared::UserRef},
};

/// A held lock. Dropping it releases the lock in the background: that never blocks, spawns or panics,
/// and works off-runtime, during a panic and while the runtime shuts down.
///
/// The locker renews the lock until the guard ends. [`is_held`](Self::is_held) reads the clock, so it is
/// never true after the deadline. A resource that outlives the lock is protected by the
/// [`token`](Self::token).
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// let guard = locks.acquire("invoices").await?;
/// println!("writing under token {}", guard.token());
/// guard.run(async { println!("dropped here if the lock is lost") }).await?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
///
/// Forgetting a guard (`mem::forget`) keeps it held until the locker is
/// [shut down](crate::Locker::shutdown).
#[must_use = "a guard that is dropped releases its lock"]
pub struct Guard {
    hold: Arc<Hold>,
    /// Keeps the locker going.
    _user: UserRef,
    /// The store has confirmed the release.
    confirmed: bool,
}

impl Guard {
    pub(crate) fn new(hold: Arc<Hold>) -> Self {
        Self {
            _user: UserRef::new(hold.shared.clone()),
            hold,
            confirmed: false,
        }
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.hold.lease.name
    }

    /// The fencing token of this grant: larger than that of every earlier grant of this name (K5).
    #[must_use]
    pub fn token(&self) -> Token {
        self.hold.token
    }

    /// The identity of the attempt that was granted, as [`Holder`](crate::Holder) shows it.
    #[must_use]
    pub fn id(&self) -> AttemptId {
        self.hold.lease.id()
    }

    /// The grant as the backend gave it, for what only that backend offers: it finds its own value there
    /// by [`Lease::handle`].
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.hold.lease
    }

    /// Whether the lock is held at this moment, by the clock. Once false, for ever false.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.hold.is_held()
    }

    /// The time that the lock is still held without a renewal: zero when it is not held,
    /// [`Duration::MAX`] where the hold has no deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match self.hold.deadline() {
            Some(BootInstant::FOREVER) => Duration::MAX,
            Some(deadline) => deadline.since(self.hold.shared.clock.now()),
            None => Duration::ZERO,
        }
    }

    /// Ends when the lock is lost, at its deadline at the latest (K8); never on a release. The future
    /// is `'static`: it can be kept and polled apart from the guard.
    ///
    /// From that moment another holder may have the lock. To stop earlier, see
    /// [`expires_within`](Self::expires_within).
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// # let guard = locks.acquire("leader").await?;
    /// # async fn serve_requests() {}
    /// tokio::select! {
    ///     cause = guard.lost() => println!("not the leader any more: {cause}"),
    ///     () = serve_requests() => guard.release().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn lost(&self) -> Lost {
        Lost::new(&self.hold)
    }

    /// Ends when less than `left` remains because renewals fail, or when the lock is lost; never on a
    /// release. A renewal that succeeds moves the moment away. The future is `'static`.
    ///
    /// A loss that the store reports gives no time: both futures end then.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// // Without renewal the lock expires after its ttl.
    /// let guard = locks.acquire("report").ttl(Duration::from_millis(100)).no_renewal().await?;
    /// guard.expires_within(Duration::from_millis(20)).await;
    /// println!("20 ms to save the work");
    /// # Ok(())
    /// # }
    /// ```
    pub fn expires_within(&self, left: Duration) -> ExpiresWithin {
        ExpiresWithin::new(&self.hold, left)
    }

    /// Runs `work` while the lock is held; drops it at its current await point when the lock is lost.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("report").await?;
    /// let pages = guard.run(async { 12 }).await?;
    /// assert_eq!(pages, 12);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Lost`, also when `work` ended but the lock was not held any more.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `work`; the guard stays.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let value = self.while_held(work).await?;
        self.check().map(|()| value)
    }

    /// Fails with `Lost` if the lock is not held.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_held() {
            Ok(())
        } else {
            Err(self.hold.not_held("run"))
        }
    }

    /// Runs `work` as [`run`](Self::run) does, without the check at the end.
    pub(crate) async fn while_held<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            biased;
            cause = self.lost() => Err(self.hold.in_context("run", Error::lost(cause))),
            value = work => Ok(value),
        }
    }

    /// Renews the lock now. Needed only without automatic renewal, or to be sure that the store
    /// still knows the lock.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("batch").ttl(Duration::from_secs(10)).no_renewal().await?;
    /// for _page in 0..3 {
    ///     // A page that hangs lets the lock expire.
    ///     guard.renew().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Lost` when it is not held; any other error means that it is unknown, and the old deadline
    /// stays.
    ///
    /// # Cancel safety
    ///
    /// Safe: the renewal may or may not have happened.
    pub async fn renew(&self) -> Result<()> {
        self.hold.renew().await
    }

    /// Releases the lock and waits for the store's confirmation.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("seat/14C").await?;
    /// match guard.release().await {
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
    /// An error other than `Lost` means that the store may hold it until its deadline: core goes on trying
    /// in the background. `Lost` means that it was not held any more when this was called, so that another
    /// holder may have done the same work, too.
    ///
    /// # Cancel safety
    ///
    /// The release goes on in the background.
    pub async fn release(self) -> Result<()> {
        let _in_flight = self.track_release();
        self.begin_release()?;
        self.finish_release().await
    }

    /// Ends the hold at its deadline and reports it to no one. In the child of a fork a report could wait for ever, for
    /// a mutex that a thread of the parent had at the fork.
    #[cfg(feature = "blocking")]
    pub(crate) fn expire_unreported(&self) {
        self.hold.expire_unreported();
    }

    #[cfg(test)]
    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    /// Makes a shutdown wait, from before the hold ends: from then on the scheduler does not know it. To be
    /// dropped after the guard, which hands an unconfirmed release to the clean-up.
    pub(crate) fn track_release(&self) -> InFlightGuard {
        self.hold.shared.in_flight.track()
    }

    /// Ends the hold; `Lost` if it has ended before.
    pub(crate) fn begin_release(&self) -> Result<()> {
        let hold = &self.hold;
        let lost = |cause| hold.in_context("release", Error::lost(cause));
        hold.begin_release().map_err(lost)
    }

    /// Releases the lock in the store.
    pub(crate) async fn finish_release(mut self) -> Result<()> {
        self.hold.try_release().await?;
        self.confirmed = true;
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.confirmed {
            return;
        }
        let _in_flight = self.track_release();
        // A release that began is not confirmed: the clean-up goes on with it. After a loss it has
        // the hold already.
        if self.hold.begin_release().is_ok() || self.hold.is_released() {
            self.hold.shared.cleanup.release(self.hold.clone());
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("name", self.name())
            .field("token", &self.token())
            .field("attempt", &self.hold.lease.attempt)
            .finish()
    }
}
