//! In the place of an old store that cannot be opened and does not count any more.

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, Error, ErrorKind, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};

use super::stores::Store;

/// A store of which each call fails at once, so that it is passed over. It adds nothing to the capabilities of the
/// other store.
#[derive(Debug)]
pub(super) struct Absent {
    capabilities: Capabilities,
    clock: Clock,
    why: String,
}

impl Absent {
    pub(super) fn beside(other: &Store, why: &Error) -> Self {
        Self {
            capabilities: other.backend.capabilities(),
            clock: other.backend.clock(),
            why: format!("it was not opened: {why}"),
        }
    }

    fn unavailable<T>(&self) -> Result<T> {
        Err(Error::new(ErrorKind::Unavailable, self.why.clone()))
    }
}

#[async_trait]
impl DistributedLock for Absent {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    async fn acquire(&self, _: &AcquireRequest) -> Result<Lease> {
        self.unavailable()
    }

    async fn renew(&self, _: &Lease) -> Result<Renewed> {
        self.unavailable()
    }

    async fn release(&self, _: &Lease) -> Result<()> {
        self.unavailable()
    }

    async fn inspect(&self, _: &LockName) -> Result<Option<Holder>> {
        self.unavailable()
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
