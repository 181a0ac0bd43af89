//! The trait, on several stores.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};

use super::{
    acquire::acquire, hold::Hold, inspect::inspect, node::Node, nodes::Nodes,
    options::QuorumOptions,
};

/// Locks that most of several independent stores hold: see the [module](super).
pub struct QuorumLock {
    nodes: Arc<Nodes>,
}

impl QuorumLock {
    /// Opens a quorum of `nodes`. It is open when as many of them are as an acquire needs. The others are opened in the
    /// background, each once a second.
    ///
    /// The nodes are independent stores: one that is there twice would count twice.
    ///
    /// ```
    /// use dlock_core::{Locker, memory::Memory};
    /// use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let nodes = [Memory::new(), Memory::new(), Memory::new()].map(Node::new);
    /// let quorum = QuorumLock::open(nodes, &QuorumOptions::new()).await?;
    /// let locks = Locker::builder(quorum).build()?;
    /// let guard = locks.acquire("seat/14C").await?;
    /// assert!(guard.is_held());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if `options` do not fit the number of nodes. `Unavailable`, `Denied` and others as they come, if
    /// too few nodes can be opened.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops what was opened.
    pub async fn open(
        nodes: impl IntoIterator<Item = Node>,
        options: &QuorumOptions,
    ) -> Result<Self> {
        let nodes = Nodes::open(nodes.into_iter().collect(), options).await?;
        Ok(Self {
            nodes: Arc::new(nodes),
        })
    }
}

#[async_trait]
impl DistributedLock for QuorumLock {
    fn capabilities(&self) -> Capabilities {
        self.nodes.capabilities
    }

    fn clock(&self) -> Clock {
        self.nodes.clock.clone()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.nodes.check_open()?;
        acquire(&self.nodes, request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.nodes.check_open()?;
        let hold = Hold::of(lease)?;
        let renewed = hold.renew().await?;
        if matches!(renewed, Renewed::Until(_)) {
            hold.repair();
        }
        Ok(renewed)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.nodes.check_open()?;
        Hold::of(lease)?.release().await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.nodes.check_open()?;
        inspect(&self.nodes, name).await
    }

    async fn close(&self) -> Result<()> {
        self.nodes.close().await
    }
}

impl fmt::Debug for QuorumLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumLock")
            .field("nodes", &self.nodes.slots.len())
            .field("options", &self.nodes.options)
            .finish_non_exhaustive()
    }
}
