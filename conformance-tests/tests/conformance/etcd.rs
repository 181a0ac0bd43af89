//! `etcd:`, on each version of it.

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
    servers::etcd::{Flavour, Node, Options},
};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, LockName, Result, config::Config,
};
use dlock_etcd::EtcdLock;
use tokio::sync::OnceCell;

/// One server for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct EtcdTarget {
    flavour: Flavour,
    /// Started by the first case that needs it: workers use that of their parent.
    node: OnceCell<Node>,
    cases: AtomicU64,
}

impl EtcdTarget {
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

    /// Everything under the prefix of one case.
    async fn locks(&self, address: &str) -> Result<Vec<String>> {
        let prefix = address.split_once("prefix=");
        let prefix = prefix.map_or("", |(_, prefix)| prefix);
        let keys = self.node().await?.keys(prefix).await.map_err(broken)?;
        Ok(keys.into_iter().map(|entry| entry.key).collect())
    }
}

#[async_trait]
impl Target for EtcdTarget {
    fn name(&self) -> &str {
        self.flavour.name()
    }

    fn capabilities(&self) -> Capabilities {
        EtcdLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn address(&self) -> Result<String> {
        let server = self.node().await?.address();
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        Ok(format!("etcd://{server}?prefix=case-{case}/"))
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
impl Backdoor for EtcdTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        // As it stands in a key.
        let place = format!("/{}/", name.as_str().replace('/', "%2F"));
        for key in self.locks(address).await? {
            if format!("/{key}").contains(&place) {
                self.node().await?.delete(&key).await.map_err(broken)?;
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
