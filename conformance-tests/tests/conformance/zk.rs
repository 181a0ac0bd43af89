//! `zk:` on one server and on an ensemble.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{
    Backdoor, Reach, Target,
    servers::zk::{Ensemble, Flavour, Node, Options},
};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, Expiry, Fencing, LockName, Modes, Order,
    Result, Waiting, config::Config,
};
use tokio::sync::OnceCell;
use zookeeper_client::{Client, Error as ZkError};

/// Ten times shorter than stock: what ends by time is waited for often.
const TICK: Duration = Duration::from_millis(200);

/// A lock is held for half of it without a renewal, and no longer: that is as long as the suite's middle
/// ttl.
const SESSION: Duration = Duration::from_secs(16);

/// One set of servers for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct ZkTarget {
    name: String,
    flavour: Flavour,
    is_ensemble: bool,
    /// Started by the first case that needs it: workers use that of their parent.
    running: OnceCell<Running>,
    cases: AtomicU64,
}

#[derive(Debug)]
enum Running {
    Server(Node),
    Ensemble(Ensemble),
}

impl ZkTarget {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Flavour::ALL.into_iter().flat_map(|flavour| {
            [(false, ""), (true, "-ensemble")].map(|(is_ensemble, suffix)| Self {
                name: format!("{}{suffix}", flavour.name()),
                flavour,
                is_ensemble,
                running: OnceCell::new(),
                cases: AtomicU64::new(0),
            })
        })
    }

    async fn running(&self) -> Result<&Running> {
        let start = || async {
            let java = self.flavour.find().map_err(io::Error::other)?;
            let mut options = Options::with_tick(TICK);
            options.lines.push("maxSessionTimeout=60000".to_owned());
            Ok(if self.is_ensemble {
                Running::Ensemble(Ensemble::start(&java, &options).await?)
            } else {
                Running::Server(Node::start(&java, &options).await?)
            })
        };
        self.running.get_or_try_init(start).await.map_err(broken)
    }

    /// Paths of all nodes of one case that belong to a session, asked of the leader.
    async fn nodes(&self, address: &str, client: &Client) -> Result<Vec<String>> {
        let (_, prefix) = address.rsplit_once("prefix=").unwrap_or_default();
        client.sync("/").await.map_err(failed)?;
        let top = format!("/{prefix}");
        let mut nodes = Vec::new();
        for lock in children(client, &top).await? {
            let directory = format!("{top}/{lock}");
            for node in children(client, &directory).await? {
                nodes.push(format!("{directory}/{node}"));
            }
        }
        Ok(nodes)
    }

    async fn client(&self) -> Result<Client> {
        let addresses = self.running().await?.addresses();
        Client::connect(&addresses).await.map_err(failed)
    }
}

impl Running {
    fn addresses(&self) -> String {
        match self {
            Self::Server(node) => node.address().to_string(),
            Self::Ensemble(ensemble) => ensemble.addresses(),
        }
    }
}

async fn children(client: &Client, path: &str) -> Result<Vec<String>> {
    match client.list_children(path).await {
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => children.map_err(failed),
    }
}

#[async_trait]
impl Target for ZkTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: "zk",
            modes: Modes::Exclusive,
            fencing: Fencing::Growing,
            order: Order::Fifo,
            waiting: Waiting::Notified,
            expiry: Expiry::Session,
            ttl_min: SESSION / 2,
            ttl_max: Duration::from_secs(86_400),
            held_max: None,
            takeover_max: SESSION + TICK * 3 / 2,
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn address(&self) -> Result<String> {
        let addresses = self.running().await?.addresses();
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        let (session, tick) = (SESSION.as_millis(), TICK.as_millis());
        Ok(format!(
            "zk://{addresses}?session={session}ms&tick={tick}ms&prefix=case-{case}"
        ))
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
impl Backdoor for ZkTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        let client = self.client().await?;
        let directory = format!("/{}/", name.as_str().replace('/', "%2F"));
        for path in self.nodes(address, &client).await? {
            if path.contains(&directory) {
                client.delete(&path, None).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let client = self.client().await?;
        self.nodes(address, &client).await
    }
}

fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's servers").with_source(source)
}

fn failed(source: ZkError) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's servers").with_source(source)
}
