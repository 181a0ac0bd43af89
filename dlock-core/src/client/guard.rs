//! What a user holds while the lock is held.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use crate::{
    backend::{attempt::AttemptId, lease::Lease},
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
/// It is renewed until it ends. Held is what [`is_held`](Self::is_held) says, which reads the clock;
/// a resource that outlives the lock is protected by the [`token`](Self::token).
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

    /// What is locked.
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

    /// How long the lock is still held without a renewal: zero when it is not held,
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
    /// At that moment the lock may be granted to somebody else. To stop in time, see
    /// [`expires_within`](Self::expires_within).
    pub fn lost(&self) -> Lost {
        Lost::new(&self.hold)
    }

    /// Ends when less than `left` remains because renewals fail, or when the lock is lost; never on a
    /// release. A renewal that succeeds moves the moment away. The future is `'static`.
    ///
    /// A loss that the store reports gives no time: both futures end then.
    pub fn expires_within(&self, left: Duration) -> ExpiresWithin {
        ExpiresWithin::new(&self.hold, left)
    }

    /// Runs `work` while the lock is held; drops it where it stands when the lock is lost.
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

    /// Fails with `Lost` if it is not held.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_held() {
            Ok(())
        } else {
            Err(self.hold.not_held("run"))
        }
    }

    /// As [`run`](Self::run), without the check at the end.
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
    /// # Errors
    ///
    /// An error other than `Lost` means that the store may hold it until its deadline: core goes on
    /// trying in the background. `Lost` means that it was not held any more when this was called, so
    /// that what was done under it may have been done by somebody else, too.
    ///
    /// # Cancel safety
    ///
    /// The release goes on in the background.
    pub async fn release(self) -> Result<()> {
        let _in_flight = self.track_release();
        self.begin_release()?;
        self.finish_release().await
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
