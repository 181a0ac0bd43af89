//! A store whose servers the suite starts: what is the same for all of them.

use std::{
    fmt::Debug,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Reach, Target};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, LockName, Result, config::Config,
};
use tokio::sync::OnceCell;

/// A store, and the way into it behind its backend's back.
#[async_trait]
pub(super) trait Store: Debug + Send + Sync + 'static {
    /// Its servers, which end when this is dropped.
    type Servers: Debug + Send + Sync;

    /// As [`Target::name`].
    fn name(&self) -> &str;

    /// As [`Target::capabilities`].
    fn capabilities(&self) -> Capabilities;

    /// As [`Target::available`].
    fn available(&self) -> Result<(), String>;

    /// Starts the servers, and waits until they grant locks.
    async fn start(&self) -> io::Result<Self::Servers>;

    /// The URL of locks under a prefix; `prefix=` is its last key.
    fn url(&self, servers: &Self::Servers, prefix: &str) -> String;

    /// What separates a prefix from the name of a lock.
    fn separator(&self) -> &'static str;

    /// As [`Backdoor::remove`].
    async fn remove(&self, servers: &Self::Servers, prefix: &str, name: &LockName) -> Result<()>;

    /// As [`Backdoor::residue`].
    async fn residue(&self, servers: &Self::Servers, prefix: &str) -> Result<Vec<String>>;
}

/// One set of servers for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct Started<S: Store> {
    store: S,
    /// Started by the first case that needs them: workers use those of their parent.
    servers: OnceCell<S::Servers>,
    cases: AtomicU64,
}

impl<S: Store> Started<S> {
    pub(super) fn new(store: S) -> Self {
        Self {
            store,
            servers: OnceCell::new(),
            cases: AtomicU64::new(0),
        }
    }

    async fn servers(&self) -> Result<&S::Servers> {
        let start = || async { self.store.start().await.map_err(broken) };
        self.servers.get_or_try_init(start).await
    }
}

#[async_trait]
impl<S: Store> Target for Started<S> {
    fn name(&self) -> &str {
        self.store.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn available(&self) -> Result<(), String> {
        self.store.available()
    }

    async fn address(&self) -> Result<String> {
        let servers = self.servers().await?;
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("case-{case}{}", self.store.separator());
        Ok(self.store.url(servers, &prefix))
    }

    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>> {
        let config = Config::from_url(address)?;
        let (backend, _) = dlock::registry().open(&config).await?;
        Ok(backend)
    }

    fn reach(&self) -> Reach {
        Reach::Processes
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl<S: Store> Backdoor for Started<S> {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        let servers = self.servers().await?;
        self.store.remove(servers, prefix_of(address)?, name).await
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let servers = self.servers().await?;
        self.store.residue(servers, prefix_of(address)?).await
    }
}

fn prefix_of(address: &str) -> Result<&str> {
    let (_, prefix) = address.rsplit_once("prefix=").unwrap_or_default();
    if prefix.is_empty() {
        let why = "an address without a prefix is everybody's";
        return Err(Error::new(ErrorKind::Internal, why));
    }
    Ok(prefix)
}

/// What a server does not do for the suite.
pub(super) fn broken(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's servers").with_source(source)
}
