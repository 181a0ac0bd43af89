//! `redis:`, on each server that speaks it.

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
    servers::redis::{Flavour, Node, Options},
};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, LockName, Result, config::Config,
};
use dlock_redis::RedisLock;
use tokio::sync::OnceCell;

/// One server for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct RedisTarget {
    flavour: Flavour,
    /// Started by the first case that needs it: workers use that of their parent.
    node: OnceCell<Node>,
    cases: AtomicU64,
}

impl RedisTarget {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            node: OnceCell::new(),
            cases: AtomicU64::new(0),
        }
    }

    async fn node(&self) -> Result<&Node> {
        let start = || async {
            let program = self.flavour.find().map_err(io::Error::other)?;
            Node::start(&program, &Options::default()).await
        };
        self.node.get_or_try_init(start).await.map_err(broken)
    }

    /// Everything under the prefix of one case, without the counters of its tokens.
    async fn locks(&self, address: &str) -> Result<Vec<String>> {
        let prefix = address
            .split_once("prefix=")
            .map_or("", |(_, prefix)| prefix);
        let pattern = format!("*{prefix}*");
        let keys = self.node().await?.ask(&["KEYS", &pattern]).await;
        let keys = keys
            .and_then(conformance_tests::servers::redis::Reply::array)
            .map_err(broken)?;
        let keys = keys.into_iter().map(|key| key.text().map_err(broken));
        let keys: Vec<String> = keys.collect::<Result<_>>()?;
        Ok(keys
            .into_iter()
            .filter(|key| !key.ends_with("}:fence"))
            .collect())
    }
}

#[async_trait]
impl Target for RedisTarget {
    fn name(&self) -> &str {
        self.flavour.name()
    }

    fn capabilities(&self) -> Capabilities {
        RedisLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn address(&self) -> Result<String> {
        let server = self.node().await?.address();
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        // The server has just been started and keeps nothing; nothing was lost in it yet.
        Ok(format!(
            "redis://{server}?restart_guard=0s&prefix=case-{case}:"
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
impl Backdoor for RedisTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        for key in self.locks(address).await? {
            if key.ends_with(name.as_str()) {
                self.node()
                    .await?
                    .ask(&["DEL", &key])
                    .await
                    .map_err(broken)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        self.locks(address).await
    }
}

fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's server").with_source(source)
}
