//! Wrappers between a locker and the backend under test.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};

/// Replaces calls of the inner backend; by default, calls it.
///
/// Unlike [`DistributedLock`] it has provided methods: an interposer changes only some calls.
#[async_trait]
pub trait Interpose: Send + Sync + 'static {
    /// Instead of an acquire.
    ///
    /// # Errors
    ///
    /// Those of the inner backend, and the interposer's own.
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        inner.acquire(request).await
    }

    /// Instead of a renewal.
    ///
    /// # Errors
    ///
    /// Those of the inner backend, and the interposer's own.
    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        inner.renew(lease).await
    }

    /// Instead of a release.
    ///
    /// # Errors
    ///
    /// Those of the inner backend, and the interposer's own.
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        inner.release(lease).await
    }

    /// Instead of an inspection.
    ///
    /// # Errors
    ///
    /// Those of the inner backend, and the interposer's own.
    async fn inspect(
        &self,
        inner: &dyn DistributedLock,
        name: &LockName,
    ) -> Result<Option<Holder>> {
        inner.inspect(name).await
    }
}

/// A backend behind an interposer.
pub struct Interposed {
    inner: Arc<dyn DistributedLock>,
    by: Arc<dyn Interpose>,
}

impl Interposed {
    /// `inner`, whose calls go to `by`.
    #[must_use]
    pub fn new(inner: impl DistributedLock, by: Arc<dyn Interpose>) -> Self {
        Self::shared(Arc::new(inner), by)
    }

    /// `inner`, which its case calls directly, too.
    pub(crate) fn shared(inner: Arc<dyn DistributedLock>, by: Arc<dyn Interpose>) -> Self {
        Self { inner, by }
    }
}

#[async_trait]
impl DistributedLock for Interposed {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.by.acquire(&*self.inner, request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.by.renew(&*self.inner, lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.by.release(&*self.inner, lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.by.inspect(&*self.inner, name).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

impl fmt::Debug for Interposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interposed")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
