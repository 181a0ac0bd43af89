//! The faults that only a quorum has: of most of its nodes, and of another node for each client.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_verify::{
    chaos::{Fault, Site},
    proxy::{Fault as LinkFault, Proxy},
    support::Outcome,
};

use crate::{
    faults::{holds_back, start_all},
    servers::{Order, Servers},
};

pub(super) fn all<S: Servers>(nodes: &Arc<S>) -> Vec<Arc<dyn Fault>> {
    let all = [What::Lost, What::Stopped, What::ViewsDiffer];
    let all = all.into_iter().map(|what| {
        let nodes = nodes.clone();
        Arc::new(QuorumFault { what, nodes }) as _
    });
    all.collect()
}

struct QuorumFault<S> {
    what: What,
    nodes: Arc<S>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// All nodes but one are killed.
    Lost,
    /// All nodes but one are stopped.
    Stopped,
    /// Each worker is cut off from one node, and its neighbours from others.
    ViewsDiffer,
}

#[async_trait]
impl<S: Servers> Fault for QuorumFault<S> {
    fn id(&self) -> &'static str {
        match self.what {
            What::Lost => "quorum-lost",
            What::Stopped => "quorum-stopped",
            What::ViewsDiffer => "views-differ",
        }
    }

    /// The last one leaves locks in nodes, by a declared exception.
    fn alone(&self) -> bool {
        matches!(self.what, What::ViewsDiffer)
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        match self.what {
            What::Lost => {
                let most = self.order_most(Order::Kill, site).await?;
                site.last().await;
                start_all(&self.nodes, &most).await?;
                Ok(0)
            }
            What::Stopped => {
                let most = self.order_most(Order::Stop, site).await?;
                site.last().await;
                for node in most {
                    self.nodes.order(node, Order::Continue).await?;
                }
                Ok(0)
            }
            What::ViewsDiffer => {
                let cut_off = || (0..site.workers.count()).filter_map(|worker| proxy(site, worker));
                cut_off().for_each(|proxy| proxy.set_both(LinkFault::Hold));
                site.last().await;
                let held = cut_off().filter(|proxy| holds_back(proxy)).count();
                cut_off().for_each(|proxy| proxy.set_both(LinkFault::None));
                Ok(held as u64)
            }
        }
    }
}

impl<S: Servers> QuorumFault<S> {
    /// Gives the order to all nodes but one, which the card chooses.
    async fn order_most(&self, order: Order, site: &Site) -> Outcome<Vec<usize>> {
        let count = self.nodes.count();
        let left = site.choose(count);
        let most: Vec<_> = (0..count).filter(|node| *node != left).collect();
        for node in &most {
            self.nodes.order(*node, order).await?;
        }
        Ok(most)
    }
}

/// The way of a worker to the node that it is cut off from.
fn proxy(site: &Site, worker: usize) -> Option<&Proxy> {
    let proxies = site.workers.proxies(worker);
    proxies.get((worker + site.choose(proxies.len())) % proxies.len().max(1))
}
