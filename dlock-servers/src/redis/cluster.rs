//! A Cluster.

use std::{io, net::SocketAddr};

use super::{
    Node, Options, Tls,
    node::{Group, field_of},
};
use crate::{Port, Program, until::until};

/// Each has one replica.
const MASTERS: usize = 3;
const SLOTS: usize = 16_384;

/// A master that does not answer for this long is replaced. The time is short, so that a test takes seconds, and
/// long enough for a busy machine to answer.
const NODE_TIMEOUT_MS: u32 = 3_000;

/// A Cluster of three masters with a replica each; they end when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    /// The ports by which the nodes talk to each other; reserved as long as they live.
    buses: Vec<Port>,
}

impl Cluster {
    /// Starts the nodes, and waits until all agree on the slots and the replicas follow.
    ///
    /// # Errors
    ///
    /// When one does not start or they do not agree.
    ///
    /// # Cancel safety
    ///
    /// What was started ends.
    pub async fn start(program: &Program, options: &Options) -> io::Result<Self> {
        let group = Group::new(program, options)?;
        let mut nodes = Vec::new();
        let mut buses = Vec::new();
        for _ in 0..2 * MASTERS {
            let bus = Port::reserve()?;
            nodes.push(group.data(&lines(&bus, options)).await?);
            buses.push(bus);
        }
        let cluster = Self { nodes, buses };
        cluster.meet().await?;
        cluster.until_met().await?;
        cluster.replicate().await?;
        cluster.until_ok().await?;
        Ok(cluster)
    }

    /// All nodes: at the start the first three are masters, and the one three further is the replica
    /// of each.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes, to be killed and started again.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The addresses of all nodes.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// The index in [`nodes`](Self::nodes) of the master that has `key`.
    ///
    /// # Errors
    ///
    /// When no node says so at present.
    pub async fn owner_of(&self, key: &str) -> io::Result<usize> {
        for (index, node) in self.nodes.iter().enumerate() {
            // A node that is down does not own it. Reading a key elsewhere is refused (MOVED).
            let is_master = node.info("role").await.is_ok_and(|role| role == "master");
            if is_master && node.command(&["EXISTS", key]).await.is_ok() {
                return Ok(index);
            }
        }
        Err(io::Error::other(format!("no node has the key {key:?}")))
    }

    /// Waits until another master than `former` has `key`: the new one's index.
    ///
    /// # Errors
    ///
    /// When that takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub async fn until_owner_of(&self, key: &str, former: usize) -> io::Result<usize> {
        until("another master", || async {
            match self.owner_of(key).await? {
                same if same == former => Err(io::Error::other("it is still the same")),
                new => Ok(new),
            }
        })
        .await
    }

    /// Moves the master that has `key` to its replica while all are well, and waits until all agree.
    ///
    /// # Errors
    ///
    /// When that takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// The move may go on.
    pub async fn fail_over(&self, key: &str) -> io::Result<()> {
        let former = self.owner_of(key).await?;
        // Refused while the last one is being finished; nothing else is the master of these slots.
        let replica = &self.nodes[(former + MASTERS) % self.nodes.len()];
        until("a failover that begins", || async {
            replica.until_it_follows(&self.nodes[former]).await?;
            replica.command(&["CLUSTER", "FAILOVER"]).await.map(drop)
        })
        .await?;
        self.until_owner_of(key, former).await?;
        self.until_ok().await
    }

    /// Assigns the slots of each master, and lets the first node meet all others.
    async fn meet(&self) -> io::Result<()> {
        for (index, node) in self.nodes.iter().enumerate() {
            // Different from the start, so that no node has to give way to another.
            let epoch = (index + 1).to_string();
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch])
                .await?;
            if index < MASTERS {
                let first = (SLOTS * index / MASTERS).to_string();
                let last = (SLOTS * (index + 1) / MASTERS - 1).to_string();
                node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])
                    .await?;
            }
        }
        for (node, bus) in self.nodes.iter().zip(&self.buses).skip(1) {
            let port = node.address().port().to_string();
            let bus = bus.number().to_string();
            let meet = ["CLUSTER", "MEET", "127.0.0.1", &port, &bus];
            self.nodes[0].command(&meet).await?;
        }
        Ok(())
    }

    /// Waits until each node knows all others and their slots.
    async fn until_met(&self) -> io::Result<()> {
        self.until("nodes that know each other", |info, nodes| {
            field_of(info, "cluster_state").as_deref() == Some("ok")
                && nodes.lines().count() == self.nodes.len()
                && !nodes.contains("handshake")
        })
        .await
    }

    async fn replicate(&self) -> io::Result<()> {
        let (masters, replicas) = self.nodes.split_at(MASTERS);
        for (master, replica) in masters.iter().zip(replicas) {
            let id = master.command(&["CLUSTER", "MYID"]).await?.text()?;
            replica.command(&["CLUSTER", "REPLICATE", &id]).await?;
        }
        for (master, replica) in masters.iter().zip(replicas) {
            replica.until_it_follows(master).await?;
        }
        Ok(())
    }

    /// Waits until each node agrees, also on who is whose replica: after the start, and after one was
    /// replaced and has come back.
    ///
    /// # Errors
    ///
    /// When that takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub async fn until_ok(&self) -> io::Result<()> {
        self.until("a Cluster that agrees", |info, nodes| {
            field_of(info, "cluster_state").as_deref() == Some("ok")
                && nodes.matches("slave ").count() == MASTERS
                && !nodes.contains("fail")
        })
        .await
    }

    /// Waits until what each node says of itself (`CLUSTER INFO`) and of all (`CLUSTER NODES`) is
    /// `good`.
    async fn until(&self, what: &str, good: impl Fn(&str, &str) -> bool) -> io::Result<()> {
        for node in &self.nodes {
            let good = &good;
            until(what, || async move {
                let info = node.command(&["CLUSTER", "INFO"]).await?.text()?;
                let nodes = node.command(&["CLUSTER", "NODES"]).await?.text()?;
                if good(&info, &nodes) {
                    return Ok(());
                }
                Err(io::Error::other(format!("{info}{nodes}")))
            })
            .await?;
        }
        Ok(())
    }
}

/// The lines of the configuration that make a server a node.
fn lines(bus: &Port, options: &Options) -> Vec<String> {
    let encrypted = if options.tls == Tls::Off { "no" } else { "yes" };
    vec![
        "cluster-enabled yes".to_owned(),
        format!("cluster-port {}", bus.number()),
        format!("cluster-node-timeout {NODE_TIMEOUT_MS}"),
        format!("tls-cluster {encrypted}"),
    ]
}
