//! Interposers that several clauses need, and leases outside of a locker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    BootInstant, Effect, Error, ErrorKind, Fencing, Guard, Holder, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    toolkit::Lock,
};
use dlock_verify::{ensure, support::Outcome};
use tokio::sync::Notify;

use super::{
    context::CaseContext,
    interpose::{Interpose, Interposed},
};

/// A clock is read a little later than the other one that it is compared with.
const READ: Duration = Duration::from_millis(5);

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

/// A lease that no guard holds: what the calls of the backend itself are tried with.
pub(crate) struct UnguardedLease {
    pub(crate) backend: Arc<dyn DistributedLock>,
    pub(crate) lease: Lease,
}

impl UnguardedLease {
    /// Acquires `name` with a lease that is never renewed.
    pub(crate) async fn take(
        context: &CaseContext,
        name: &LockName,
        ttl: Duration,
    ) -> Outcome<Self> {
        let backend = context.backend().await?;
        let capture = Arc::new(CaptureLease::default());
        let interposed = Arc::new(Interposed::new(backend.clone(), capture.clone()));
        let locker = context.locker_of(interposed)?;
        Self::ask(&locker, name, ttl).await?;
        let lease = capture.0.lock().take().ok_or("the lease was not kept")?;
        Ok(Self { backend, lease })
    }

    async fn ask(locker: &Locker, name: &LockName, ttl: Duration) -> Outcome {
        match locker.try_acquire(name).ttl(ttl).no_renewal().await {
            Err(error) if error.effect() == Effect::Unknown => Ok(()),
            Err(error) => Err(error.into()),
            Ok(guard) => {
                Err(format!("{name:?} should have been granted and kept: {guard:?}").into())
            }
        }
    }

    pub(crate) async fn renew(&self) -> Outcome<Renewed> {
        Ok(self.backend.renew(&self.lease).await?)
    }

    pub(crate) async fn release(&self) -> Outcome {
        Ok(self.backend.release(&self.lease).await?)
    }
}

/// Keeps the lease and says that the reply was lost.
#[derive(Default)]
struct CaptureLease(Lock<Option<Lease>>);

#[async_trait]
impl Interpose for CaptureLease {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        *self.0.lock() = Some(lease);
        Err(lost_reply())
    }
}

/// Fails unless `guard` is lost at `deadline`: one ttl after the request that was confirmed last.
pub(crate) async fn lost_by(
    context: &CaseContext,
    guard: &Guard,
    deadline: BootInstant,
) -> Outcome {
    let left = deadline.since(context.clock.now()) + READ;
    if tokio::time::timeout(left, guard.lost()).await.is_err() {
        ensure!(!guard.is_held(), "held after its deadline");
    }
    context.soon("the loss", guard.lost()).await?;
    Ok(())
}

/// Fails unless the later one of two guards has the larger token, where tokens grow (K5).
pub(crate) fn grown(context: &CaseContext, first: &Guard, second: &Guard) -> Outcome {
    let grows = context.capabilities.fencing == Fencing::Growing;
    let (first, second) = (first.token(), second.token());
    ensure!(first < second || !grows, "token {second} after {first}");
    Ok(())
}

/// The error of a request whose reply was lost.
pub(crate) fn lost_reply() -> Error {
    Error::new(ErrorKind::Unavailable, "the reply was lost by the test")
        .with_effect(Effect::Unknown)
}
