//! Interposers that several clauses need.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dlock_core::{
    Effect, Error, ErrorKind, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};
use tokio::sync::Notify;

use super::interpose::Interpose;

/// Counts what reaches the backend.
#[derive(Default)]
pub(crate) struct CallCounter {
    acquires: AtomicUsize,
    others: AtomicUsize,
    came: Notify,
}

impl CallCounter {
    pub(crate) fn acquires(&self) -> usize {
        self.acquires.load(Ordering::SeqCst)
    }

    pub(crate) fn all(&self) -> usize {
        self.acquires() + self.others.load(Ordering::SeqCst)
    }

    /// Waits until `count` acquires have reached the backend.
    pub(crate) async fn acquired(&self, count: usize) {
        while self.acquires() < count {
            self.came.notified().await;
        }
    }

    fn other(&self) {
        self.others.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Interpose for CallCounter {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        self.acquires.fetch_add(1, Ordering::SeqCst);
        self.came.notify_one();
        inner.acquire(request).await
    }

    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        self.other();
        inner.renew(lease).await
    }

    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        self.other();
        inner.release(lease).await
    }

    async fn inspect(
        &self,
        inner: &dyn DistributedLock,
        name: &LockName,
    ) -> Result<Option<Holder>> {
        self.other();
        inner.inspect(name).await
    }
}

/// Stalls the renewals of one name, or of all, and notifies of releases.
#[derive(Default)]
pub(crate) struct StalledRenewals {
    /// `None` for all names.
    pub(crate) only: Option<LockName>,
    pub(crate) released: Notify,
}

#[async_trait]
impl Interpose for StalledRenewals {
    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        if self.only.as_ref().is_none_or(|only| *only == lease.name) {
            std::future::pending::<()>().await;
        }
        inner.renew(lease).await
    }

    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        let released = inner.release(lease).await;
        self.released.notify_one();
        released
    }
}

/// Loses the replies to the first requests.
pub(crate) struct LostReplies(AtomicUsize);

impl LostReplies {
    /// Loses so many of them.
    pub(crate) fn first(count: usize) -> Self {
        Self(AtomicUsize::new(count))
    }

    /// The result of the next request, instead of its reply if that is lost.
    pub(crate) fn next(&self) -> Result<()> {
        let less = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => Err(lost_reply()),
            Err(_) => Ok(()),
        }
    }
}

/// The error of a request whose reply was lost.
pub(crate) fn lost_reply() -> Error {
    Error::new(ErrorKind::Unavailable, "the reply was lost by the test")
        .with_effect(Effect::Unknown)
}
