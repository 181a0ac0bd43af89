//! Programs: clients with a connection to each server.

use std::net::SocketAddr;

use dlock::Locker;
use dlock_verify::proxy::Proxy;

use crate::{servers::Servers, support::Outcome};

/// A client of the servers at `addresses`.
pub(crate) async fn connect(
    addresses: impl IntoIterator<Item = SocketAddr>,
    keys: &str,
) -> dlock::Result<Locker> {
    let hosts: Vec<_> = addresses.into_iter().map(|one| one.to_string()).collect();
    let hosts = hosts.join(",");
    dlock::connect(format!("redis-quorum://{hosts}?{keys}").as_str()).await
}

/// A client that is behind a proxy to each server.
#[derive(Debug)]
pub(crate) struct Proxied {
    pub(crate) locker: Locker,
    /// In the order of the servers.
    pub(crate) proxies: Vec<Proxy>,
}

impl Proxied {
    pub(crate) async fn connect(servers: &Servers, keys: &str) -> Outcome<Self> {
        let mut proxies = Vec::new();
        for node in &servers.0 {
            proxies.push(Proxy::start(node.address())?);
        }
        let locker = connect(proxies.iter().map(Proxy::address), keys).await?;
        Ok(Self { locker, proxies })
    }
}
