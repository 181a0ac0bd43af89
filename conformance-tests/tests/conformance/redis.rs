//! `redis:` in each topology, on each server that speaks it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use conformance_tests::{
    Backdoor, Reach, Target,
    servers::redis::{Cluster, Flavour, Node, Options, Replicated, Reply},
};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, LockName, Result, config::Config,
};
use dlock_redis::{RedisLock, Topology};
use tokio::sync::OnceCell;

/// What stands behind the addresses.
const TOPOLOGIES: [(Topology, &str); 3] = [
    (Topology::Server, ""),
    (Topology::Sentinel, "-sentinel"),
    (Topology::Cluster, "-cluster"),
];

/// How many replicas the primary has that Sentinels watch.
const REPLICAS: usize = 2;

/// One set of servers for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct RedisTarget {
    name: String,
    flavour: Flavour,
    topology: Topology,
    /// Started by the first case that needs it: workers use that of their parent.
    running: OnceCell<Running>,
    cases: AtomicU64,
}

#[derive(Debug)]
enum Running {
    Server(Node),
    Sentinel(Replicated),
    Cluster(Cluster),
}

impl RedisTarget {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Flavour::ALL.into_iter().flat_map(|flavour| {
            TOPOLOGIES.map(|(topology, suffix)| Self {
                name: format!("{}{suffix}", flavour.name()),
                flavour,
                topology,
                running: OnceCell::new(),
                cases: AtomicU64::new(0),
            })
        })
    }

    async fn running(&self) -> Result<&Running> {
        let start = || async {
            let program = self.flavour.find().map_err(io::Error::other)?;
            Running::start(self.topology, &program).await
        };
        self.running.get_or_try_init(start).await.map_err(broken)
    }

    /// Everything under the prefix of one case, without the counters of its tokens, and where it is.
    async fn locks(&self, address: &str) -> Result<Vec<(&Node, String)>> {
        let prefix = address
            .split_once("prefix=")
            .map_or("", |(_, prefix)| prefix);
        let pattern = format!("*{prefix}*");
        let mut locks = Vec::new();
        for node in self.running().await?.masters().await.map_err(broken)? {
            let keys = node.ask(&["KEYS", &pattern]).await;
            for key in keys.and_then(Reply::array).map_err(broken)? {
                let key = key.text().map_err(broken)?;
                if !key.ends_with("}:fence") {
                    locks.push((node, key));
                }
            }
        }
        Ok(locks)
    }
}

impl Running {
    async fn start(
        topology: Topology,
        program: &conformance_tests::servers::Program,
    ) -> io::Result<Self> {
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
        let listed = |addresses: Vec<std::net::SocketAddr>| {
            let addresses = addresses.iter().map(ToString::to_string);
            addresses.collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Server(node) => format!("redis://{}", node.address()),
            Self::Sentinel(replicated) => {
                let (sentinels, name) = (listed(replicated.addresses()), replicated.name());
                format!("redis-sentinel://{sentinels}/{name}")
            }
            Self::Cluster(cluster) => format!("redis-cluster://{}", listed(cluster.addresses())),
        }
    }

    /// Who has the keys.
    async fn masters(&self) -> io::Result<Vec<&Node>> {
        let nodes = match self {
            Self::Server(node) => std::slice::from_ref(node),
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
}

#[async_trait]
impl Target for RedisTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        RedisLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn address(&self) -> Result<String> {
        let url = self.running().await?.url();
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        // The servers have just been started and keep nothing; nothing was lost in them yet.
        Ok(format!("{url}?restart_guard=0s&prefix=case-{case}:"))
    }

    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>> {
        let config = Config::from_url(address)?;
        dlock::registry()
            .open(&config)
            .await
            .map(|(backend, _)| backend)
    }

    fn reach(&self) -> Reach {
        Reach::Processes
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl Backdoor for RedisTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        for (node, key) in self.locks(address).await? {
            if key.ends_with(name.as_str()) {
                node.ask(&["DEL", &key]).await.map_err(broken)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let locks = self.locks(address).await?;
        Ok(locks.into_iter().map(|(_, key)| key).collect())
    }
}

fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's servers").with_source(source)
}
