//! `redis:` in each topology, on each server that speaks it.

use std::{io, net::SocketAddr, time::Duration};

use async_trait::async_trait;
use conformance_tests::{Extra, TTL_DEDICATED};
use dlock_core::{Capabilities, LockName, Result};
use dlock_redis::RedisLock;
use dlock_servers::{
    Program,
    redis::{Cluster, Flavour, Node, Options, Pair, Replicated, Reply},
};

use crate::store::{Store, broken};

/// The servers behind the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topology {
    Server,
    Sentinel,
    Cluster,
}

const TOPOLOGIES: [(Topology, &str); 3] = [
    (Topology::Server, ""),
    (Topology::Sentinel, "-sentinel"),
    (Topology::Cluster, "-cluster"),
];

/// How many replicas the primary has that Sentinels watch.
const REPLICAS: usize = 2;

/// A server that cases have for themselves grants nothing for so long after it has forgotten its locks: hardly
/// longer than their ttl.
const RESTART_GUARD: Duration = TTL_DEDICATED.saturating_add(Duration::from_secs(1));

/// The ends of the keys that stay: the counters, the record of the server's history, and that of a migration.
const OWN: [&str; 3] = ["}fence", "}record", "}migration"];

#[derive(Debug)]
pub(super) struct Redis {
    name: String,
    flavour: Flavour,
    topology: Topology,
    /// How a lock is kept.
    format: &'static str,
}

impl Redis {
    /// All variants.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let own = Flavour::ALL.into_iter().flat_map(|flavour| {
            TOPOLOGIES.map(|(topology, suffix)| Self {
                name: format!("{}{suffix}", flavour.name()),
                flavour,
                topology,
                format: "escaped",
            })
        });
        let of_redisson = Self {
            name: "redis-redisson".to_owned(),
            format: "redisson",
            ..Self::newest()
        };
        own.chain([of_redisson])
    }

    /// Each server alone, and the newest Redis in each topology.
    pub(super) fn is_in_every_run(&self) -> bool {
        self.topology == Topology::Server || self.flavour == Flavour::RedisNewest
    }

    /// One server of the newest Redis.
    pub(super) fn newest() -> Self {
        Self {
            name: Flavour::RedisNewest.name().to_owned(),
            flavour: Flavour::RedisNewest,
            topology: Topology::Server,
            format: "escaped",
        }
    }

    /// The servers have just been started and keep nothing; nothing was lost in them yet.
    fn url_shared(&self, url: &str, prefix: &str) -> String {
        let Self { format, .. } = self;
        // The prefix comes last: the suite reads it there.
        format!("{url}?restart_guard=0s&format={format}&prefix={prefix}")
    }

    /// The URL of servers that will forget.
    fn url_alone(&self, url: &str, prefix: &str) -> String {
        let (ttl, guard) = (TTL_DEDICATED.as_secs(), RESTART_GUARD.as_secs());
        let Self { format, .. } = self;
        format!("{url}?ttl={ttl}s&restart_guard={guard}s&format={format}&prefix={prefix}")
    }
}

#[derive(Debug)]
pub(super) enum Running {
    Server(Node),
    /// A server that another one can replace.
    Pair(Box<Pair>),
    Sentinel(Replicated),
    Cluster(Cluster),
}

impl Running {
    async fn start(topology: Topology, program: &Program) -> io::Result<Self> {
        let options = Options::default();
        Ok(match topology {
            Topology::Server => Self::Server(Node::start(program, &options).await?),
            Topology::Sentinel => {
                Self::Sentinel(Replicated::start(program, &options, REPLICAS).await?)
            }
            Topology::Cluster => Self::Cluster(Cluster::start(program, &options).await?),
        })
    }

    /// The URL without its keys.
    fn url(&self) -> String {
        let listed = |addresses: Vec<SocketAddr>| {
            let addresses = addresses.iter().map(ToString::to_string);
            addresses.collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Server(node) => format!("redis://{}", node.address()),
            Self::Pair(pair) => format!("redis://{}", pair.address()),
            Self::Sentinel(replicated) => {
                let (sentinels, name) = (listed(replicated.addresses()), replicated.name());
                format!("redis-sentinel://{sentinels}/{name}")
            }
            Self::Cluster(cluster) => format!("redis-cluster://{}", listed(cluster.addresses())),
        }
    }

    /// The nodes that have the keys.
    async fn masters(&self) -> io::Result<Vec<&Node>> {
        let nodes = match self {
            Self::Server(node) => std::slice::from_ref(node),
            Self::Pair(pair) => std::slice::from_ref(pair.primary()),
            Self::Sentinel(replicated) => replicated.nodes(),
            Self::Cluster(cluster) => cluster.nodes(),
        };
        let mut masters = Vec::new();
        for node in nodes {
            if node.info("role").await? == "master" {
                masters.push(node);
            }
        }
        Ok(masters)
    }

    /// Everything under a prefix but dlock's own keys, the record and the counters, and where it is.
    async fn locks(&self, prefix: &str) -> Result<Vec<(&Node, String)>> {
        let pattern = format!("*{prefix}*");
        let mut locks = Vec::new();
        for node in self.masters().await.map_err(broken)? {
            let keys = node.command(&["KEYS", &pattern]).await;
            for key in keys.and_then(Reply::array).map_err(broken)? {
                let key = key.text().map_err(broken)?;
                if !OWN.iter().any(|own| key.ends_with(own)) {
                    locks.push((node, key));
                }
            }
        }
        Ok(locks)
    }
}

#[async_trait]
impl Store for Redis {
    type Servers = Running;

    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            restart_guard: Duration::ZERO,
            ..RedisLock::CAPABILITIES
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    fn extras(&self) -> &[Extra] {
        match self.topology {
            Topology::Server => &[
                Extra::Link,
                Extra::DataLoss,
                Extra::SafeDataLoss,
                Extra::FailOver,
            ],
            // Sentinels and nodes say where the servers are.
            _ => &[Extra::DataLoss, Extra::SafeDataLoss, Extra::FailOver],
        }
    }

    async fn start(&self) -> io::Result<Running> {
        let program = self.flavour.find().map_err(io::Error::other)?;
        Running::start(self.topology, &program).await
    }

    async fn start_alone(&self) -> io::Result<Running> {
        if self.topology != Topology::Server {
            return self.start().await;
        }
        let program = self.flavour.find().map_err(io::Error::other)?;
        let pair = Pair::start(&program, &Options::default()).await?;
        Ok(Running::Pair(Box::new(pair)))
    }

    fn url(&self, running: &Running, prefix: &str) -> String {
        self.url_shared(&running.url(), prefix)
    }

    fn url_alone(&self, running: &Running, prefix: &str) -> String {
        self.url_alone(&running.url(), prefix)
    }

    fn server(&self, running: &Running) -> Option<SocketAddr> {
        match running {
            Running::Server(node) => Some(node.address()),
            Running::Pair(pair) => Some(pair.address()),
            Running::Sentinel(_) | Running::Cluster(_) => None,
        }
    }

    fn url_at(&self, running: &Running, address: SocketAddr, prefix: &str) -> String {
        let url = format!("redis://{address}");
        match running {
            Running::Pair(_) => self.url_alone(&url, prefix),
            _ => self.url_shared(&url, prefix),
        }
    }

    fn separator(&self) -> &'static str {
        ":"
    }

    async fn residue(&self, running: &Running, prefix: &str) -> Result<Vec<String>> {
        let locks = running.locks(prefix).await?;
        Ok(locks.into_iter().map(|(_, key)| key).collect())
    }

    async fn lose_data(&self, running: &mut Running, _: &str) -> Result<()> {
        for node in running.masters().await.map_err(broken)? {
            node.command(&["FLUSHALL"]).await.map_err(broken)?;
        }
        Ok(())
    }

    async fn fail_over(&self, running: &mut Running, prefix: &str, name: &LockName) -> Result<()> {
        let replaced = match running {
            Running::Server(node) => node.restart().await,
            Running::Pair(pair) => pair.fail_over().await,
            Running::Sentinel(replicated) => replicated.fail_over().await.map(drop),
            Running::Cluster(cluster) => {
                let key = format!("{prefix}{}", name.as_str());
                cluster.fail_over(&key).await
            }
        };
        replaced.map_err(broken)
    }
}
