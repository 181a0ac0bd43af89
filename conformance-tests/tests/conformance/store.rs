//! A store whose servers the suite starts: what is the same for all of them.

use std::{
    collections::HashMap,
    fmt::Debug,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Link, Reach, Target, proxy::Proxy};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, config::Config,
    toolkit::Lock,
};
use dlock_raw::residue::Residue;
use tokio::sync::{OnceCell, RwLock};

/// How long clients whose line fails wait for an answer: cases wait for several times as long. A busy
/// machine answers in less.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// A store, and the way into it behind its backend's back.
#[async_trait]
pub(super) trait Store: Debug + Send + Sync + 'static {
    /// The store's servers, which end when this is dropped.
    type Servers: Debug + Send + Sync;

    /// The store's name, for [`Target::name`].
    fn name(&self) -> &str;

    /// The store's capabilities, for [`Target::capabilities`].
    fn capabilities(&self) -> Capabilities;

    /// Whether the store is installed, for [`Target::available`].
    fn available(&self) -> Result<(), String>;

    /// Further cases, for [`Target::extras`].
    fn extras(&self) -> &[Extra];

    /// Whether lost locks stay taken, for [`Target::lost_locks_stay`].
    fn lost_locks_stay(&self) -> bool {
        false
    }

    /// Starts the servers, and waits until they grant locks.
    async fn start(&self) -> io::Result<Self::Servers>;

    /// Starts servers for a case that takes them down.
    async fn start_alone(&self) -> io::Result<Self::Servers> {
        self.start().await
    }

    /// Prepares a new prefix for its locks.
    async fn prepare(&self, _servers: &Self::Servers, _prefix: &str) -> Result<()> {
        Ok(())
    }

    /// The URL of locks under a prefix; `prefix=` is its last key.
    fn url(&self, servers: &Self::Servers, prefix: &str) -> String;

    /// The URL of servers of [`start_alone`](Self::start_alone).
    fn url_alone(&self, servers: &Self::Servers, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    /// The server at which a client of them is, if it stays at one.
    fn server(&self, servers: &Self::Servers) -> Option<SocketAddr>;

    /// How long a client over a line may take to connect, on a busy machine, too.
    fn connect_max(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// The URL by which it finds them at `address` instead.
    fn url_at(&self, servers: &Self::Servers, address: SocketAddr, prefix: &str) -> String;

    /// The servers that [`linked_url`](Self::linked_url) replaces: those that a client uses.
    fn linked(&self, servers: &Self::Servers) -> Vec<SocketAddr> {
        self.server(servers).into_iter().collect()
    }

    /// The URL by which a client finds them `at` other addresses, which are as many as [`linked`](Self::linked).
    /// Its time-outs are short.
    fn linked_url(&self, servers: &Self::Servers, at: &[SocketAddr], prefix: &str) -> String {
        let Some(address) = at.first() else {
            return self.url(servers, prefix);
        };
        let url = self.url_at(servers, *address, prefix);
        with_keys(&url, &timeouts(self.connect_max()))
    }

    /// The sum of such a client's time-outs.
    fn client_timeout(&self) -> Duration {
        self.connect_max() + ANSWER_MAX
    }

    /// The separator between a prefix and the name of a lock.
    fn separator(&self) -> &'static str;

    /// Removes a lock, for [`Backdoor::remove`]: by its name, where the store lets other clients do that.
    async fn remove(&self, servers: &Self::Servers, prefix: &str, name: &LockName) -> Result<()> {
        let config = Config::from_url(&self.url(servers, prefix))?;
        let residue = Residue::open(&config).await?;
        residue
            .remove_locks(std::slice::from_ref(name))
            .await
            .map(drop)
    }

    /// Lists the residue, for [`Backdoor::residue`].
    async fn residue(&self, servers: &Self::Servers, prefix: &str) -> Result<Vec<String>>;

    /// Ends the holder's session, for [`Backdoor::end_session`].
    async fn end_session(
        &self,
        _servers: &Self::Servers,
        _prefix: &str,
        _name: &LockName,
    ) -> Result<()> {
        Err(cannot("end a session"))
    }

    /// Loses the data, for [`Backdoor::lose_data`].
    async fn lose_data(&self, servers: &mut Self::Servers, prefix: &str) -> Result<()>;

    /// Fails over, for [`Backdoor::fail_over`]; the lock is `prefix` and `name`.
    async fn fail_over(
        &self,
        servers: &mut Self::Servers,
        prefix: &str,
        name: &LockName,
    ) -> Result<()>;
}

/// One set of servers for all cases, each with a prefix of its own, beside those of cases that are
/// alone.
#[derive(Debug)]
pub(super) struct Started<S: Store> {
    store: S,
    /// Started by the first case that needs them: workers use those of their parent.
    servers: OnceCell<Servers<S>>,
    /// The servers of single cases, by the prefix of the case.
    alone: Lock<HashMap<String, Servers<S>>>,
    cases: AtomicU64,
}

type Servers<S> = Arc<RwLock<<S as Store>::Servers>>;

impl<S: Store> Started<S> {
    pub(super) fn new(store: S) -> Self {
        Self {
            store,
            servers: OnceCell::new(),
            alone: Lock::default(),
            cases: AtomicU64::new(0),
        }
    }

    async fn shared(&self) -> Result<Servers<S>> {
        let start = || async {
            let servers = self.store.start().await.map_err(broken)?;
            Ok(Arc::new(RwLock::new(servers)))
        };
        self.servers.get_or_try_init(start).await.cloned()
    }

    /// The servers of a case.
    async fn servers(&self, prefix: &str) -> Result<Servers<S>> {
        let alone = self.alone.lock().get(prefix).cloned();
        match alone {
            Some(servers) => Ok(servers),
            None => self.shared().await,
        }
    }

    fn new_prefix(&self) -> String {
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        format!("case-{case}{}", self.store.separator())
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

    fn lost_locks_stay(&self) -> bool {
        self.store.lost_locks_stay()
    }

    async fn address(&self) -> Result<String> {
        let (servers, prefix) = (self.shared().await?, self.new_prefix());
        let servers = servers.read().await;
        self.store.prepare(&servers, &prefix).await?;
        Ok(self.store.url(&servers, &prefix))
    }

    async fn dedicated_address(&self) -> Result<String> {
        let (servers, prefix) = (self.store.start_alone().await, self.new_prefix());
        let servers = servers.map_err(broken)?;
        self.store.prepare(&servers, &prefix).await?;
        let url = self.store.url_alone(&servers, &prefix);
        self.alone
            .lock()
            .insert(prefix, Arc::new(RwLock::new(servers)));
        Ok(url)
    }

    fn dispose(&self, address: &str) {
        if let Ok(prefix) = prefix_of(address) {
            let servers = self.alone.lock().remove(prefix);
            drop(servers);
        }
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
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

    fn extras(&self) -> &[Extra] {
        self.store.extras()
    }

    async fn link(&self, address: &str) -> Result<Link> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        let servers = servers.read().await;
        let proxies: Vec<Proxy> = self
            .store
            .linked(&servers)
            .into_iter()
            .map(Proxy::start)
            .collect::<io::Result<_>>()
            .map_err(broken)?;
        let addresses: Vec<_> = proxies.iter().map(Proxy::address).collect();
        let url = self.store.linked_url(&servers, &addresses, prefix);
        Ok(Link::new(url, proxies, self.store.client_timeout()))
    }
}

#[async_trait]
impl<S: Store> Backdoor for Started<S> {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        self.store
            .remove(&*servers.read().await, prefix, name)
            .await
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        self.store.residue(&*servers.read().await, prefix).await
    }

    async fn end_session(&self, address: &str, name: &LockName) -> Result<()> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        self.store
            .end_session(&*servers.read().await, prefix, name)
            .await
    }

    async fn lose_data(&self, address: &str) -> Result<()> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        self.store
            .lose_data(&mut *servers.write().await, prefix)
            .await
    }

    async fn fail_over(&self, address: &str, name: &LockName) -> Result<()> {
        let prefix = prefix_of(address)?;
        let servers = self.servers(prefix).await?;
        self.store
            .fail_over(&mut *servers.write().await, prefix, name)
            .await
    }
}

/// The time-outs of a client whose line fails.
pub(super) fn timeouts(connect_max: Duration) -> String {
    let (connect, answer) = (connect_max.as_millis(), ANSWER_MAX.as_millis());
    format!("connect_timeout={connect}ms&timeout={answer}ms")
}

/// `url` with more keys before its last one, the prefix.
pub(super) fn with_keys(url: &str, keys: &str) -> String {
    url.replace("prefix=", &format!("{keys}&prefix="))
}

fn prefix_of(address: &str) -> Result<&str> {
    let (_, rest) = address.rsplit_once("prefix=").unwrap_or_default();
    // Keys of a quorum come after those of its nodes.
    let (prefix, _) = rest.split_once('&').unwrap_or((rest, ""));
    if prefix.is_empty() {
        let why = "an address without a prefix is not ours alone";
        return Err(Error::new(ErrorKind::Internal, why));
    }
    Ok(prefix)
}

/// The failure of a server to do what the suite requests.
pub(super) fn broken(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's servers").with_source(source)
}

/// The refusal of a request that the store's extras do not support.
pub(super) fn cannot(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("this store cannot {what}"))
}
