//! `zk:` on one server and on an ensemble.

use std::{fmt::Display, io, net::SocketAddr, time::Duration};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, Expiry, Fencing, LockName, Modes, Order, Result, Waiting};
use dlock_servers::zk::{Ensemble, Flavour, Node, Options};
use zookeeper_client::{Client, Error as ZkError};

use crate::store::{Store, broken};

/// Ten times shorter than stock: what ends by time is waited for often.
const TICK: Duration = Duration::from_millis(200);

/// The longest session. A lock is held for half of it without a renewal, and no longer: that is the suite's middle
/// ttl.
const SESSION: Duration = Duration::from_secs(16);

#[derive(Debug)]
pub(super) struct Zk {
    name: String,
    flavour: Flavour,
    is_ensemble: bool,
}

impl Zk {
    /// One server of the newest ZooKeeper.
    pub(super) fn newest() -> Self {
        Self {
            name: Flavour::Newest.name().to_owned(),
            flavour: Flavour::Newest,
            is_ensemble: false,
        }
    }

    /// Each server alone, and an ensemble of the newest ZooKeeper.
    pub(super) fn is_in_every_run(&self) -> bool {
        !self.is_ensemble || matches!(self.flavour, Flavour::Newest)
    }

    /// All variants.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Flavour::ALL.into_iter().flat_map(|flavour| {
            [(false, ""), (true, "-ensemble")].map(|(is_ensemble, suffix)| Self {
                name: format!("{}{suffix}", flavour.name()),
                flavour,
                is_ensemble,
            })
        })
    }
}

#[derive(Debug)]
pub(super) enum Running {
    Server(Node),
    Ensemble(Ensemble),
}

impl Running {
    fn addresses(&self) -> String {
        match self {
            Self::Server(node) => node.address().to_string(),
            Self::Ensemble(ensemble) => ensemble.addresses(),
        }
    }

    fn nodes(&self) -> &[Node] {
        match self {
            Self::Server(node) => std::slice::from_ref(node),
            Self::Ensemble(ensemble) => ensemble.nodes(),
        }
    }

    async fn client(&self) -> Result<Client> {
        Client::connect(&self.addresses()).await.map_err(broken)
    }
}

/// Paths of all nodes under a prefix that belong to a session, as the leader has them. (The version of the
/// layout stays, `%layout`, and so do empty directories until the servers remove them.)
async fn nodes(client: &Client, prefix: &str) -> Result<Vec<String>> {
    client.sync("/").await.map_err(broken)?;
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

async fn children(client: &Client, path: &str) -> Result<Vec<String>> {
    match client.list_children(path).await {
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => children.map_err(broken),
    }
}

#[async_trait]
impl Store for Zk {
    type Servers = Running;

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
            ttl_min: Duration::from_secs(1),
            ttl_max: Duration::from_secs(86_400),
            held_max: None,
            takeover_max: SESSION + TICK * 3 / 2,
            restart_guard: Duration::ZERO,
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    fn extras(&self) -> &[Extra] {
        &[
            Extra::Link,
            Extra::EndSession,
            Extra::DataLoss,
            Extra::FailOver,
        ]
    }

    async fn start(&self) -> io::Result<Running> {
        let java = self.flavour.find().map_err(io::Error::other)?;
        let mut options = Options::with_tick(TICK);
        options.lines.push("maxSessionTimeout=60000".to_owned());
        Ok(if self.is_ensemble {
            Running::Ensemble(Ensemble::start(&java, &options).await?)
        } else {
            Running::Server(Node::start(&java, &options).await?)
        })
    }

    fn url(&self, running: &Running, prefix: &str) -> String {
        url(running.addresses(), prefix)
    }

    /// Of an ensemble, one that any client may be at.
    fn server(&self, running: &Running) -> Option<SocketAddr> {
        Some(running.nodes()[0].address())
    }

    /// Java is slow when it has just been started. A session outlives three times that and an answer.
    fn connect_max(&self) -> Duration {
        Duration::from_secs(4)
    }

    fn url_at(&self, _: &Running, address: SocketAddr, prefix: &str) -> String {
        url(address, prefix)
    }

    fn separator(&self) -> &'static str {
        ""
    }

    async fn residue(&self, running: &Running, prefix: &str) -> Result<Vec<String>> {
        nodes(&running.client().await?, prefix).await
    }

    async fn end_session(&self, running: &Running, prefix: &str, name: &LockName) -> Result<()> {
        let client = running.client().await?;
        // The first one has the lock.
        let Some(path) = queue(&client, prefix, name).await?.into_iter().min() else {
            return Ok(());
        };
        let stat = client.check_stat(&path).await.map_err(broken)?;
        let session = stat.map_or(0, |stat| stat.ephemeral_owner);
        let node = &running.nodes()[0];
        node.end_session(session).await.map_err(broken)
    }

    /// All nodes go; the transactions' number, which tokens are, is what ZooKeeper cannot lose but with
    /// all its data.
    async fn lose_data(&self, running: &mut Running, prefix: &str) -> Result<()> {
        let client = running.client().await?;
        for path in nodes(&client, prefix).await? {
            client.delete(&path, None).await.map_err(broken)?;
        }
        let mut locks = children(&client, &format!("/{prefix}")).await?;
        // What belongs to no lock.
        locks.retain(|lock| !lock.starts_with('%'));
        for lock in locks {
            let directory = format!("/{prefix}/{lock}");
            match client.delete(&directory, None).await {
                // The servers have removed it, or it is in use again.
                Ok(()) | Err(ZkError::NoNode | ZkError::NotEmpty) => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(())
    }

    async fn fail_over(&self, running: &mut Running, _: &str, _: &LockName) -> Result<()> {
        let restarted = match running {
            Running::Server(node) => node.restart().await,
            Running::Ensemble(ensemble) => replace_leader(ensemble).await,
        };
        restarted.map_err(broken)
    }
}

async fn replace_leader(ensemble: &mut Ensemble) -> io::Result<()> {
    let leader = ensemble.leader().await?;
    ensemble.nodes_mut()[leader].restart().await?;
    ensemble.until_complete().await
}

fn url(addresses: impl Display, prefix: &str) -> String {
    let (ttl, tick) = ((SESSION / 2).as_millis(), TICK.as_millis());
    format!("zk://{addresses}?ttl={ttl}ms&tick={tick}ms&prefix={prefix}")
}

/// Paths of the nodes in the directory of a lock.
async fn queue(client: &Client, prefix: &str, name: &LockName) -> Result<Vec<String>> {
    let directory = format!("/{}/", name.as_str().replace('/', "%2F"));
    let mut paths = nodes(client, prefix).await?;
    paths.retain(|path| path.contains(&directory));
    Ok(paths)
}
