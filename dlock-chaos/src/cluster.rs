//! The members of a cluster, and the network between them.

use std::{io, path::PathBuf, time::Duration};

use async_trait::async_trait;
use dlock_servers::{Links, etcd, zk};
use tokio::{sync::Mutex, time::timeout};

use crate::servers::{Order, Server, Servers};

/// A member that is stopped or cut off is not awaited for longer.
const LEADS_MAX: Duration = Duration::from_millis(500);

/// A member of a cluster.
#[async_trait]
pub(crate) trait Member: Server + Sync {
    /// Whether it leads, in its own opinion.
    async fn leads(&self) -> io::Result<bool>;

    /// Hands the leadership over to `to`, where a leader cannot serve a member that has older data than before.
    async fn hand_over(&self, to: &Self) -> io::Result<()>;
}

#[async_trait]
impl Member for etcd::Node {
    async fn leads(&self) -> io::Result<bool> {
        self.leads().await
    }

    /// A leader remembers what a member has confirmed, and a member that lacks it ends at once.
    async fn hand_over(&self, to: &Self) -> io::Result<()> {
        self.move_leader(&to.member_id().await?).await
    }
}

#[async_trait]
impl Member for zk::Node {
    async fn leads(&self) -> io::Result<bool> {
        Ok(self.mode().await? == "leader")
    }

    /// Each member says what it has when it joins.
    async fn hand_over(&self, _: &Self) -> io::Result<()> {
        Ok(())
    }
}

/// The members of a cluster. Each is locked by itself: one that starts waits for the others.
pub(crate) struct Members<M> {
    nodes: Vec<Mutex<M>>,
    links: Links,
}

impl<M: Member> Members<M> {
    pub(crate) fn new((nodes, links): (Vec<M>, Links)) -> Self {
        let nodes = nodes.into_iter().map(Mutex::new).collect();
        Self { nodes, links }
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    pub(crate) fn node(&self, index: usize) -> &Mutex<M> {
        &self.nodes[index]
    }

    /// The other members.
    pub(crate) fn others(&self, index: usize) -> Vec<usize> {
        let all = 0..self.nodes.len();
        all.filter(|other| *other != index).collect()
    }

    /// The member that leads, if one does; those that start or end are left out.
    pub(crate) async fn leader(&self) -> Option<usize> {
        for (index, node) in self.nodes.iter().enumerate() {
            let Ok(node) = node.try_lock() else { continue };
            if let Ok(Ok(true)) = timeout(LEADS_MAX, node.leads()).await {
                return Some(index);
            }
        }
        None
    }
}

#[async_trait]
impl<M: Member> Servers for Members<M> {
    fn count(&self) -> usize {
        self.nodes.len()
    }

    async fn order(&self, index: usize, order: Order) -> io::Result<()> {
        self.nodes[index].lock().await.order(order).await
    }

    async fn directory(&self, index: usize) -> PathBuf {
        self.nodes[index].lock().await.directory()
    }
}
