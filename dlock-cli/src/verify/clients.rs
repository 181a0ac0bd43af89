//! The workers of the faults, and how they reach the user's store.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock::{
    Capabilities, Locker, Result,
    config::{Config, Host, Registry},
};
use dlock_verify::{
    chaos::{Fault, Load, Target, client_side},
    support::Outcome,
};
use tokio::{net::lookup_host, process::Command};

use super::{bounds::fault_ttl, target::Subject, worker};

/// The clients of a run: few, as each has connections of its own.
const LOAD: Load = Load {
    workers: 4,
    tasks: 2,
    hot: 2,
    shared: 4,
};

/// How long a client waits for a connection, and for a reply: a fault holds both back.
const CONNECT_MAX: Duration = Duration::from_secs(2);
const REPLY_MAX: Duration = Duration::from_secs(1);

/// After a fault, clients need so long to connect again, beside the times of the store.
const RECONNECT_MAX: Duration = Duration::from_secs(10);

/// The default ports of the schemes whose servers can be reached through a proxy: the client goes to the addresses of
/// the URL only, and does not check a certificate.
const PORTS: [(&str, u16); 5] = [
    ("redis", 6379),
    ("etcd", 2379),
    ("zk", 2181),
    ("mysql", 3306),
    ("mariadb", 3306),
];

/// The user's store, for workers.
#[derive(Debug)]
pub(crate) struct Clients {
    registry: Registry,
    config: Config,
    capabilities: Capabilities,
    servers: Vec<SocketAddr>,
}

impl Clients {
    /// The clients of `subject`, which reach its servers through proxies where that is possible.
    pub(crate) async fn of(subject: &Subject) -> Self {
        Self {
            registry: subject.registry.clone(),
            config: subject.config.clone(),
            capabilities: subject.capabilities,
            servers: addresses(&subject.config).await.unwrap_or_default(),
        }
    }
}

/// The address of each host; `None` if they cannot be replaced by proxies.
async fn addresses(config: &Config) -> Option<Vec<SocketAddr>> {
    let url = config.url();
    let (_, port) = PORTS.iter().find(|(scheme, _)| *scheme == url.scheme())?;
    let mut addresses = Vec::new();
    for host in url.hosts() {
        let address = (host.name.as_str(), host.port.unwrap_or(*port));
        addresses.push(lookup_host(address).await.ok()?.next()?);
    }
    Some(addresses)
}

#[async_trait]
impl Target for Clients {
    fn store(&self) -> &str {
        self.capabilities.backend
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.servers.clone()
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let url = self.config.url().clone();
        if servers.is_empty() {
            return url.expose();
        }
        let times = [("connect_timeout", CONNECT_MAX), ("timeout", REPLY_MAX)];
        let url = times.into_iter().fold(url, |url, (key, time)| {
            url.with_param(key, format!("{}ms", time.as_millis()))
        });
        let hosts = servers
            .iter()
            .map(|address| address.to_string().parse::<Host>());
        match hosts.collect::<Result<Vec<_>, _>>() {
            Ok(hosts) => url.with_hosts(hosts).expose(),
            Err(_) => url.expose(),
        }
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        let (backend, _) = self.registry.open(&Config::from_url(url)?).await?;
        Locker::builder(backend).ttl(self.ttl()).build()
    }

    fn worker(&self) -> Outcome<Command> {
        worker::command(LOAD.workers)
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        client_side(!self.servers.is_empty())
    }

    fn ttl(&self) -> Duration {
        fault_ttl(&self.capabilities)
    }

    fn heal_max(&self) -> Duration {
        let Capabilities {
            takeover_max,
            restart_guard,
            ..
        } = self.capabilities;
        self.ttl() + takeover_max + restart_guard + RECONNECT_MAX
    }

    fn load(&self) -> Load {
        LOAD
    }
}
