//! A lock that a layer holds in one of its stores.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Clock, Error, ErrorKind, Expiry, LostCause, Result, Token,
    backend::{AcquireRequest, Deadline, DistributedLock, Lease, RELEASE_TRY_MAX, Renewed},
    toolkit::{Backoff, Lock},
};

/// A renewal takes at most this part of what is left of the lease, so that the layer can still act on its end: core
/// waits for half of it.
const RENEWAL_SHARE: u32 = 4;

/// A lock that is kept while another store is waited for is renewed when this part of its ttl has passed.
const KEEP_SHARE: u32 = 3;

/// The shortest pause between two renewals of a lock that is kept.
const KEEP_PAUSE_MIN: Duration = Duration::from_millis(1);

/// A session keeps its locks over an outage of its store. A release is tried again for so long.
const OUTAGE_MAX: Duration = Duration::from_secs(600);

/// A store rounds the ends of its leases.
const LATE: Duration = Duration::from_secs(1);

/// A lease in one store, and what is known of it. What core is to the layer, the layer is to this.
#[derive(Debug)]
pub(crate) struct Part {
    store: Arc<dyn DistributedLock>,
    request: Arc<AcquireRequest>,
    pub(crate) lease: Lease,
    known: Lock<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    deadline: Deadline,
    lost: Option<LostCause>,
}

/// The result of a renewal.
#[derive(Debug)]
pub(crate) enum Found {
    Held,
    Lost(LostCause),
    Unknown(Error),
}

impl Part {
    pub(crate) fn new(
        store: Arc<dyn DistributedLock>,
        request: Arc<AcquireRequest>,
        lease: Lease,
    ) -> Self {
        let known = Known {
            deadline: lease.deadline,
            lost: None,
        };
        Self {
            store,
            request,
            lease,
            known: Lock::new(known),
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.known.lock().deadline
    }

    /// Whether it is held, by its own clock.
    pub(crate) fn is_held(&self) -> bool {
        let known = *self.known.lock();
        known.lost.is_none() && self.clock().now() < known.deadline.instant()
    }

    /// The loss, if a renewal has found one.
    pub(crate) fn known_loss(&self) -> Option<LostCause> {
        self.known.lock().lost
    }

    /// Renews it once. A lock that was lost stays lost (K3).
    pub(crate) async fn renew(&self) -> Found {
        if let Some(cause) = self.lost() {
            return Found::Lost(cause);
        }
        let left = self.deadline().instant().since(self.clock().now());
        let renewal = tokio::time::timeout(left / RENEWAL_SHARE, self.store.renew(&self.lease));
        match renewal.await {
            Ok(Ok(Renewed::Until(deadline))) => self.extend(deadline),
            Ok(Ok(Renewed::Lost(cause))) => Found::Lost(self.lose(cause)),
            Ok(Ok(_)) => Found::Unknown(self.in_context(unknown_answer())),
            Ok(Err(error)) => Found::Unknown(self.in_context(error)),
            Err(_) => Found::Unknown(self.in_context(no_answer())),
        }
    }

    /// Renews it again and again; ends when it is lost.
    pub(crate) async fn keep(&self) -> LostCause {
        loop {
            if let Some(cause) = self.lost() {
                return cause;
            }
            let deadline = self.deadline();
            if deadline == Deadline::FOREVER {
                // The process itself keeps it; the store reports a loss.
                std::future::pending::<()>().await;
            }
            let left = deadline.instant().since(self.clock().now());
            tokio::time::sleep((left / KEEP_SHARE).max(KEEP_PAUSE_MIN)).await;
            if let Found::Unknown(error) = self.renew().await {
                tracing::debug!(%error, "a lock is kept, its renewal is tried again");
            }
        }
    }

    /// Raises the counter of its store to `token`; false if the store cannot, or has it no more.
    pub(crate) async fn raise(&self, token: Token) -> Result<bool> {
        match self.store.token_counter() {
            Some(counter) => counter.raise(&self.lease, token).await,
            None => Ok(false),
        }
    }

    /// Releases it, and reports no loss from now on.
    pub(crate) async fn release(&self) -> Result<()> {
        self.request.cancel_nested();
        let released = self.store.release(&self.lease).await;
        released
            .map_err(|error| error.in_context("release", self.backend(), Some(&self.lease.name)))
    }

    /// Tries to release it until that is confirmed, or it has ended by itself; for [`OUTAGE_MAX`] at the most if it does
    /// not end by itself.
    ///
    /// No shutdown waits for it, as the store need not answer any more.
    pub(crate) async fn release_until_it_ends(&self) {
        let mut backoff = Backoff::new();
        let until = match self.ends_by() {
            BootInstant::FOREVER => self.clock().now().after(OUTAGE_MAX),
            end => end,
        };
        loop {
            match tokio::time::timeout(RELEASE_TRY_MAX, self.release()).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => tracing::debug!(%error, "the release is not confirmed"),
                Err(_) => tracing::debug!("the release is not answered"),
            }
            if self.clock().now() >= until {
                return;
            }
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }

    /// When nothing of it can be left in its store, even if no release is confirmed.
    pub(crate) fn ends_by(&self) -> BootInstant {
        ends_by(&*self.store, &self.request)
    }

    fn extend(&self, deadline: Deadline) -> Found {
        let mut known = self.known.lock();
        if self.clock().now() >= known.deadline.instant() {
            // Too late: another one may have had it in between (K2).
            let cause = *known.lost.get_or_insert(LostCause::Expired);
            return Found::Lost(cause);
        }
        known.deadline = known.deadline.max(deadline);
        Found::Held
    }

    fn lost(&self) -> Option<LostCause> {
        let mut known = self.known.lock();
        if known.lost.is_none() && self.clock().now() >= known.deadline.instant() {
            known.lost = Some(LostCause::Expired);
        }
        known.lost
    }

    fn lose(&self, cause: LostCause) -> LostCause {
        *self.known.lock().lost.get_or_insert(cause)
    }

    fn clock(&self) -> &Clock {
        self.lease.clock()
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.store.capabilities().backend
    }

    fn in_context(&self, error: Error) -> Error {
        error.in_context("renew", self.backend(), Some(&self.lease.name))
    }
}

/// When nothing of a request that `store` has executed by now can be left: a session or a process keeps its locks.
pub(crate) fn ends_by(store: &dyn DistributedLock, request: &AcquireRequest) -> BootInstant {
    match store.capabilities().expiry {
        Expiry::Lease => request.clock().now().after(request.ttl).after(LATE),
        _ => BootInstant::FOREVER,
    }
}

fn unknown_answer() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the renewal has a result that is not known here",
    )
}

fn no_answer() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "the renewal was not answered in time",
    )
}
