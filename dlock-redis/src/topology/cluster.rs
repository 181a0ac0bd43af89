//! The nodes of a Cluster, and the owner of each slot.
//!
//! The driver's own Cluster client reconnects silently. But each new connection has to be probed, so it is not
//! used.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{Lock, SingleFlight, Turn},
};
use tokio::task::JoinSet;

use crate::{
    config::Options,
    conn::{
        connect::{Address, Connector, Endpoint},
        node::Node,
        resolve::Resolver,
    },
    errors::{Redirect, RedirectScope},
    keys::slots::{SLOTS, slot},
    topology::slot_map::{self, Range},
};

/// The nodes of a Cluster.
pub(super) struct Cluster {
    connector: Connector,
    options: Options,
    /// The highest token that this client was given by any node.
    highest_token: Arc<AtomicU64>,
    /// The nodes that the user named.
    seeds: Vec<Address>,
    map: Lock<Map>,
    /// The single flight that fetches the map.
    fetching: SingleFlight<()>,
}

/// The nodes, and the slots that they own.
struct Map {
    nodes: HashMap<Address, Arc<Node>>,
    /// The node of each slot.
    owners: Vec<Option<Arc<Node>>>,
    /// Whether it was fetched since it was last invalidated.
    is_valid: bool,
}

impl Cluster {
    pub(super) fn new(
        connector: Connector,
        seeds: Vec<Address>,
        options: Options,
        highest_token: Arc<AtomicU64>,
    ) -> Self {
        Self {
            connector,
            options,
            highest_token,
            seeds,
            map: Lock::new(Map {
                nodes: HashMap::new(),
                owners: vec![None; usize::from(SLOTS)],
                is_valid: false,
            }),
            fetching: SingleFlight::new(()),
        }
    }

    /// Connects to all masters, and probes them. One that is down does not concern the names that others have.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<()> {
        self.fetch_map().await?;
        let nodes = self.map.lock().nodes.values().cloned().collect();
        // A client that one master refuses must not write its layout into the empty record of another one: that would
        // refuse the right clients.
        let (checked, silent) =
            at_each(nodes, |node| async move { node.check_layout().await }).await?;
        let (connected, failed) =
            at_each(checked, |node| async move { node.connect().await }).await?;
        if connected.is_empty() {
            return Err(failed.or(silent).unwrap_or_else(slot_map::no_slot_map));
        }
        Ok(())
    }

    /// The node that owns the slot of this key.
    pub(super) async fn node_for(self: &Arc<Self>, key: &str) -> Result<Arc<Node>> {
        let slot = usize::from(slot(key));
        let owner = |map: &Map| map.owners[slot].clone().filter(|_| map.is_valid);
        if let Some(owner) = owner(&self.map.lock()) {
            return Ok(owner);
        }
        // Also if only this slot had no owner when the map was fetched.
        self.invalidate();
        self.fetch_map().await?;
        owner(&self.map.lock()).ok_or_else(|| {
            let why = "no node of the Cluster owns the key's slot at present";
            Error::new(ErrorKind::Unavailable, why)
        })
    }

    /// The node that a request is redirected to.
    pub(super) fn follow(&self, redirect: Redirect, from: &Node) -> Arc<Node> {
        let mut map = self.map.lock();
        let (host, port) = redirect.to;
        // Nodes that do not know their own name leave it out: it is that of the redirecting node.
        let host = match host.as_str() {
            "" | "?" => from.host().to_owned(),
            _ => host,
        };
        let node = self.node_at(&mut map, (host, port));
        if let Some(owner) = map.owners.get_mut(usize::from(redirect.slot))
            && redirect.scope == RedirectScope::Slot
        {
            *owner = Some(node.clone());
        }
        node
    }

    /// Makes the next request fetch the map again: a node may have been replaced.
    pub(super) fn invalidate(&self) {
        self.map.lock().is_valid = false;
    }

    pub(super) fn close(&self) {
        for node in self.map.lock().nodes.values() {
            node.close();
        }
    }

    async fn fetch_map(self: &Arc<Self>) -> Result<()> {
        let cluster = self.clone();
        let fetch = |turn: Turn<()>| async move {
            if cluster.map.lock().is_valid {
                return turn.finish(Ok(()));
            }
            let ranges = slot_map::fetch(cluster.endpoints()).await;
            let ranges = ranges.map_err(|error| match cluster.map.lock().nodes.is_empty() {
                true => error,
                // An earlier map came from there.
                false => error.without_url_hint(),
            });
            turn.finish(ranges.map(|ranges| cluster.install_map(ranges)))
        };
        self.fetching.run(fetch).await
    }

    fn install_map(&self, ranges: Vec<Range>) {
        let mut map = self.map.lock();
        map.owners.fill(None);
        let masters: Vec<_> = ranges
            .iter()
            .map(|(_, _, address)| address.clone())
            .collect();
        for (first, last, address) in ranges {
            let node = self.node_at(&mut map, address);
            map.owners[usize::from(first)..=usize::from(last)].fill(Some(node));
        }
        // A node that may still execute delayed requests kills their connection when it owns the slot again
        // (K7).
        map.nodes
            .retain(|address, node| masters.contains(address) || node.has_abandoned());
        map.is_valid = true;
    }

    fn node_at(&self, map: &mut Map, address: Address) -> Arc<Node> {
        if let Some(node) = map.nodes.get(&address) {
            return node.clone();
        }
        let resolver = Resolver::Fixed(self.connector.endpoint(&address));
        let node = Arc::new(Node::new(
            resolver,
            self.options.clone(),
            true,
            self.highest_token.clone(),
        ));
        map.nodes.insert(address, node.clone());
        node
    }

    /// The nodes that may return a map: known ones, and those that the user named.
    fn endpoints(&self) -> Vec<Endpoint> {
        let mut addresses: Vec<_> = self.map.lock().nodes.keys().cloned().collect();
        for seed in &self.seeds {
            if !addresses.contains(seed) {
                addresses.push(seed.clone());
            }
        }
        let endpoints = addresses
            .iter()
            .map(|address| self.connector.endpoint(address));
        endpoints.collect()
    }
}

/// Does this at each node at once: the nodes where it succeeded, and the error of one that is unavailable. Any other
/// error ends it.
async fn at_each<F>(
    nodes: Vec<Arc<Node>>,
    call: impl Fn(Arc<Node>) -> F,
) -> Result<(Vec<Arc<Node>>, Option<Error>)>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let mut calls = JoinSet::new();
    for node in nodes {
        let called = call(node.clone());
        calls.spawn(async move { called.await.map(|()| node) });
    }
    let (mut answered, mut unavailable) = (Vec::new(), None);
    while let Some(result) = calls.join_next().await {
        match result.unwrap_or_else(|error| Err(slot_map::task_failed(error))) {
            Ok(node) => answered.push(node),
            Err(error) if error.kind() != ErrorKind::Unavailable => return Err(error),
            Err(error) => unavailable = Some(error),
        }
    }
    Ok((answered, unavailable))
}
