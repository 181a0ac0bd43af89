//! Programs: clients with a connection to each server.

use std::net::SocketAddr;

use dlock::Locker;
use dlock_servers::redis::Node;
use dlock_verify::proxy::Proxy;

use crate::support::Outcome;

/// A busy machine answers within this: what comes later is a fault.
const NODE_TIMEOUT: &str = "node_timeout=1s";

/// The URL of a client of the servers at `addresses`.
pub(crate) fn url(addresses: impl IntoIterator<Item = SocketAddr>, keys: &str) -> String {
    let hosts: Vec<_> = addresses.into_iter().map(|one| one.to_string()).collect();
    let hosts = hosts.join(",");
    let keys = match keys.contains("node_timeout") {
        true => keys.to_owned(),
        false => [keys, NODE_TIMEOUT].join("&"),
    };
    format!("redis-quorum://{hosts}?{keys}")
}

/// A client that is behind a proxy to each server.
#[derive(Debug)]
pub(crate) struct Proxied {
    pub(crate) locker: Locker,
    /// In the order of the servers.
    pub(crate) proxies: Vec<Proxy>,
}

impl Proxied {
    pub(crate) async fn connect(servers: &[Node], keys: &str) -> Outcome<Self> {
        let mut proxies = Vec::new();
        for node in servers {
            proxies.push(Proxy::start(node.address())?);
        }
        let url = url(proxies.iter().map(Proxy::address), keys);
        let locker = dlock::connect(url.as_str()).await?;
        Ok(Self { locker, proxies })
    }
}
