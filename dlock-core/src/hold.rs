//! A granted lease with everything that keeps and ends it: what a guard and the scheduler share.

use std::{
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, atomic::AtomicU64},
    task::Poll,
    time::Duration,
};

use tokio::time::timeout;

use crate::{
    cause::LostCause,
    clock::BootInstant,
    core::Core,
    error::{Effect, Error, ErrorKind, Result},
    lease::{Lease, Renewed},
    state::Phase,
    token::Token,
};

/// A try to renew takes no longer than this, nor than half of what remains of the lease.
const RENEW_TRY_MAX: Duration = Duration::from_secs(10);

/// A try to release takes no longer than this; then core drops it and makes another.
pub const RELEASE_TRY_MAX: Duration = Duration::from_secs(5);

pub(crate) struct Hold {
    pub(crate) core: Arc<Core>,
    pub(crate) lease: Lease,
    /// The store's token moved up by the locker's base.
    pub(crate) token: Token,
    pub(crate) since: BootInstant,
    /// The number that tells holds of one due time apart in the schedule.
    pub(crate) serial: u64,
    /// When the scheduler looks at this hold; written under the schedule's lock only.
    pub(crate) due: AtomicU64,
}

impl Hold {
    /// Makes `lease` a hold, unless the attempt was cancelled or lost meanwhile or the answer came
    /// after the deadline (K2, K7). What could not be held is released in the background.
    pub(crate) fn grant(core: &Arc<Core>, lease: Lease) -> Result<Arc<Self>> {
        let token = Token::with_base(lease.token, core.token_base);
        let hold = Arc::new(Self {
            core: core.clone(),
            token: token.unwrap_or(lease.token),
            since: core.clock.now(),
            serial: core.schedule.serial(),
            due: AtomicU64::new(0),
            lease,
        });
        let granted = hold.try_grant();
        if granted.is_err() {
            core.reaper.release(hold.clone());
        }
        // The store has granted it, and is told of the release in the background.
        granted
            .map(|()| hold)
            .map_err(|error| error.with_effect(Effect::Unknown))
    }

    fn try_grant(self: &Arc<Self>) -> Result<()> {
        if self.lease.token.get() > Token::MAX {
            return Err(Error::new(
                ErrorKind::Internal,
                "the store gave a token out of range",
            ));
        }
        let attempt = &self.lease.attempt;
        attempt.belongs_to(self);
        let deadline = self.lease.deadline.instant().as_nanos();
        match attempt.state().grant(self.since.as_nanos(), deadline) {
            Ok(()) => {}
            Err(Phase::Lost(LostCause::Expired)) => {
                let late = "the store's answer came after the lease had ended";
                return Err(Error::new(ErrorKind::Unavailable, late));
            }
            Err(Phase::Lost(cause)) => return Err(Error::lost(cause)),
            Err(_) => return Err(Error::cancelled()),
        }
        // A loss is told from here on, also one that comes before the guard is built.
        if self.core.schedule.insert(self) {
            self.core.meters.granted();
            return Ok(());
        }
        attempt.state().lose(LostCause::Closed);
        Err(self.core.closed_error())
    }

    /// Until when it is held, if it is.
    pub(crate) fn deadline(&self) -> Option<BootInstant> {
        match self.lease.attempt.state().phase() {
            Phase::Held(deadline) => Some(BootInstant::from_nanos(deadline)),
            _ => None,
        }
    }

    /// Whether it is held at this moment. Once false, for ever false.
    pub(crate) fn is_held(&self) -> bool {
        self.lease.attempt.expire(self.core.clock.now());
        self.deadline().is_some()
    }

    /// Proves the hold to the store and moves its deadline, bounded by half of what remains (K3).
    /// Fails with `Lost`, or with anything else when it is unknown and the old deadline stays.
    pub(crate) async fn renew(self: &Arc<Self>) -> Result<()> {
        let attempt = &self.lease.attempt;
        attempt.expire(self.core.clock.now());
        let deadline = self.deadline().ok_or_else(|| self.not_held("renew"))?;
        let bound = (deadline.since(self.core.clock.now()) / 2).min(RENEW_TRY_MAX);
        let hold = self.clone();
        let asked = async move { contained(hold.core.backend.renew(&hold.lease)).await };
        let renewed = match timeout(bound, self.core.at_home(asked)).await {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(error)) => return Err(self.in_context("renew", error)),
            Err(_) => {
                let error = Error::new(ErrorKind::Unavailable, format!("no answer in {bound:?}"))
                    .with_effect(Effect::Unknown);
                return Err(self.in_context("renew", error));
            }
        };
        match renewed {
            Renewed::Until(deadline) => {
                let now = self.core.clock.now().as_nanos();
                attempt.state().extend(now, deadline.instant().as_nanos());
                attempt.expire(self.core.clock.now());
            }
            Renewed::Lost(cause) => attempt.report_lost(cause),
        }
        self.deadline()
            .map(drop)
            .ok_or_else(|| self.not_held("renew"))
    }

    /// One try to free the lock in the store, bounded by [`RELEASE_TRY_MAX`].
    pub(crate) async fn try_release(self: &Arc<Self>) -> Result<()> {
        let hold = self.clone();
        let asked = async move { contained(hold.core.backend.release(&hold.lease)).await };
        let result = in_time(self.core.at_home(asked)).await;
        result.map_err(|error| self.in_context("release", error))
    }

    /// The error of something that needs a hold which is over.
    pub(crate) fn not_held(&self, operation: &'static str) -> Error {
        let cause = match self.lease.attempt.state().phase() {
            Phase::Lost(cause) => cause,
            _ => LostCause::Removed,
        };
        self.in_context(operation, Error::lost(cause))
    }

    /// Ends the hold by its holder's will: nothing is renewed and no loss is told any more (K4, K8).
    /// Fails with the cause if it was lost before.
    pub(crate) fn begin_release(&self) -> Result<(), LostCause> {
        let attempt = &self.lease.attempt;
        attempt.expire(self.core.clock.now());
        match attempt.state().release() {
            Ok(()) => {
                self.core.schedule.remove(self);
                self.core
                    .meters
                    .ended(self.core.clock.now().since(self.since));
                Ok(())
            }
            Err(Phase::Lost(cause)) => Err(cause),
            Err(_) => Err(LostCause::Closed),
        }
    }

    /// Whether it was ended by its holder.
    pub(crate) fn is_released(&self) -> bool {
        self.lease.attempt.state().phase() == Phase::Released
    }

    /// Hears of the loss, once. What is left in the store is released: an entry on a shared session
    /// would outlive its guard (K8).
    pub(crate) fn on_lost(self: &Arc<Self>, cause: LostCause) {
        self.core.schedule.remove(self);
        let held_for = self.core.clock.now().since(self.since);
        self.core.meters.lost(held_for);
        tracing::warn!(name = %self.lease.name, %cause, ?held_for, "lock lost");
        self.core.reaper.release(self.clone());
    }

    /// `error` with what is known of this hold.
    pub(crate) fn in_context(&self, operation: &'static str, error: Error) -> Error {
        error.in_context(
            operation,
            self.core.capabilities.backend,
            Some(&self.lease.name),
        )
    }
}

/// One try to free something, bounded by [`RELEASE_TRY_MAX`].
pub(crate) async fn in_time(release: impl Future<Output = Result<()>>) -> Result<()> {
    timeout(RELEASE_TRY_MAX, release).await.unwrap_or_else(|_| {
        let why = format!("no answer in {RELEASE_TRY_MAX:?}");
        Err(Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown))
    })
}

/// What a backend answers; its panic is an error like others, so that it is tried again.
pub(crate) async fn contained<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))).unwrap_or_else(|_| {
            let error = Error::new(ErrorKind::Internal, "the backend panicked");
            Poll::Ready(Err(error.with_effect(Effect::Unknown)))
        })
    })
    .await
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("lease", &self.lease)
            .field("token", &self.token)
            .finish()
    }
}
