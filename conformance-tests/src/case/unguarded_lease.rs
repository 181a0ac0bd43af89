//! Leases outside of a locker, for calls of the backend itself.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Effect, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    toolkit::Lock,
};
use dlock_verify::support::Outcome;

use super::{
    context::CaseContext,
    interpose::{Interpose, Interposed},
    interposers::{CallCounter, lost_reply},
};

/// A lease that no guard holds: what the calls of the backend itself are tried with.
pub(crate) struct UnguardedLease {
    pub(crate) backend: Arc<dyn DistributedLock>,
    pub(crate) lease: Arc<Lease>,
}

impl UnguardedLease {
    /// Acquires `name` with a lease that is never renewed.
    pub(crate) async fn take(
        context: &CaseContext,
        name: &LockName,
        ttl: Duration,
    ) -> Outcome<Self> {
        let backend: Arc<dyn DistributedLock> = Arc::from(context.backend().await?);
        let capture = Arc::new(CaptureLease::default());
        let interposed = Interposed::shared(backend.clone(), capture.clone());
        let locker = context.locker_of(interposed)?;
        Self::acquire(&locker, name, ttl).await?;
        let lease = capture.0.lock().take().ok_or("the lease was not kept")?;
        let lease = Arc::new(lease);
        context.opened.add_unguarded(&backend, &lease);
        Ok(Self { backend, lease })
    }

    async fn acquire(locker: &Locker, name: &LockName, ttl: Duration) -> Outcome {
        match locker.try_acquire(name).ttl(ttl).no_renewal().await {
            Err(error) if error.effect() == Effect::Unknown => Ok(()),
            Err(error) => Err(error.into()),
            Ok(guard) => {
                Err(format!("{name:?} should have been granted and kept: {guard:?}").into())
            }
        }
    }

    /// A locker over the same client.
    pub(crate) fn locker(&self, context: &CaseContext) -> Outcome<Locker> {
        let calls = Arc::new(CallCounter::default());
        context.locker_of(Interposed::shared(self.backend.clone(), calls))
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
