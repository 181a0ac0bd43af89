//! `zk:` on one server and on an ensemble.

use std::{io, time::Duration};

use async_trait::async_trait;
use conformance_tests::servers::zk::{Ensemble, Flavour, Node, Options};
use dlock_core::{Capabilities, Expiry, Fencing, LockName, Modes, Order, Result, Waiting};
use zookeeper_client::{Client, Error as ZkError};

use crate::store::{Store, broken};

/// Ten times shorter than stock: what ends by time is waited for often.
const TICK: Duration = Duration::from_millis(200);

/// A lock is held for half of it without a renewal, and no longer: that is as long as the suite's middle
/// ttl.
const SESSION: Duration = Duration::from_secs(16);

#[derive(Debug)]
pub(super) struct Zk {
    name: String,
    flavour: Flavour,
    is_ensemble: bool,
}

impl Zk {
    /// All of them.
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

    async fn client(&self) -> Result<Client> {
        Client::connect(&self.addresses()).await.map_err(broken)
    }
}

/// Paths of all nodes under a prefix that belong to a session, asked of the leader. (The version of the layout stays,
/// `%layout`, and so do empty directories until the servers remove them.)
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
            ttl_min: SESSION / 2,
            ttl_max: Duration::from_secs(86_400),
            held_max: None,
            takeover_max: SESSION + TICK * 3 / 2,
            restart_guard: Duration::ZERO,
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
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
        let (session, tick) = (SESSION.as_millis(), TICK.as_millis());
        let addresses = running.addresses();
        format!("zk://{addresses}?session={session}ms&tick={tick}ms&prefix={prefix}")
    }

    fn separator(&self) -> &'static str {
        ""
    }

    async fn remove(&self, running: &Running, prefix: &str, name: &LockName) -> Result<()> {
        let client = running.client().await?;
        let directory = format!("/{}/", name.as_str().replace('/', "%2F"));
        for path in nodes(&client, prefix).await? {
            if path.contains(&directory) {
                client.delete(&path, None).await.map_err(broken)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, running: &Running, prefix: &str) -> Result<Vec<String>> {
        nodes(&running.client().await?, prefix).await
    }
}
