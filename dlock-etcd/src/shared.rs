//! State that all operations of one backend share.

use std::sync::Arc;

use dlock_core::Result;

use crate::{
    config::EtcdConfig,
    conn::{members::Members, probe},
    hold::{Holds, verify::KeyVerifier},
    lease::pool::LeasePool,
    queue::context::QueueContext,
    watch::Watches,
};

/// The parts of one backend.
pub(crate) struct Shared {
    pub(crate) members: Arc<Members>,
    pub(crate) leases: LeasePool,
    pub(crate) queue: Arc<QueueContext>,
    pub(crate) watches: Watches,
    pub(crate) verifier: KeyVerifier,
    pub(crate) holds: Holds,
}

impl Shared {
    /// Connects to a member, and checks that locks can be kept there.
    pub(crate) async fn connect(config: EtcdConfig) -> Result<Self> {
        let members = Arc::new(Members::new(config)?);
        probe::probe(&members).await?;
        Ok(Self {
            leases: LeasePool::new(members.clone()),
            queue: Arc::new(QueueContext::new(members.clone())),
            watches: Watches::new(members.clone()),
            verifier: KeyVerifier::new(members.clone()),
            holds: Holds::default(),
            members,
        })
    }

    /// Ends all leases and holds in the store, then the connection.
    pub(crate) async fn close(&self) -> Result<()> {
        if self.members.is_closed() {
            return Ok(());
        }
        let revoked = self.leases.revoke_all().await;
        let result = revoked.and(self.holds.remove_all().await);
        self.members.close();
        result
    }
}
