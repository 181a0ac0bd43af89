//! `etcd:`, on each version of it, and behind its own gRPC proxy.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Order, Result};
use dlock_etcd::EtcdLock;
use dlock_servers::etcd::{Entry, Flavour, GrpcProxy, Node, Options};

use crate::store::{Store, broken};

/// The ends of the keys that stay: the version of the layout, and the record of a migration.
const OWN: [&str; 2] = ["/%dlock-layout", "/%dlock-migration"];

#[derive(Debug)]
pub(super) struct Etcd {
    name: &'static str,
    flavour: Flavour,
    way: Way,
}

/// How its clients reach the member.
#[derive(Clone, Copy, Debug)]
enum Way {
    Direct,
    /// With one key for each lock, as python-etcd3 has it.
    PythonEtcd3,
    GrpcProxy,
}

#[derive(Debug)]
pub(super) struct Servers {
    proxy: Option<GrpcProxy>,
    node: Node,
}

impl Servers {
    /// The address for clients.
    fn address(&self) -> SocketAddr {
        let proxy = self.proxy.as_ref().map(GrpcProxy::address);
        proxy.unwrap_or_else(|| self.node.address())
    }
}

impl Etcd {
    /// The newest etcd.
    pub(super) fn newest() -> Self {
        Self {
            name: Flavour::Newest.name(),
            flavour: Flavour::Newest,
            way: Way::Direct,
        }
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        let direct = Flavour::ALL.into_iter().map(|flavour| Self {
            name: flavour.name(),
            flavour,
            way: Way::Direct,
        });
        let behind_proxy = Self {
            name: "etcd-grpc-proxy",
            flavour: Flavour::Newest,
            way: Way::GrpcProxy,
        };
        let one_key = Self {
            name: "etcd-python-etcd3",
            flavour: Flavour::Newest,
            way: Way::PythonEtcd3,
        };
        direct.chain([behind_proxy, one_key])
    }
}

#[async_trait]
impl Store for Etcd {
    type Servers = Servers;

    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        match self.way {
            Way::Direct | Way::GrpcProxy => EtcdLock::CAPABILITIES,
            Way::PythonEtcd3 => Capabilities {
                order: Order::Unordered,
                ..EtcdLock::CAPABILITIES
            },
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    fn extras(&self) -> &[Extra] {
        match self.way {
            Way::Direct | Way::PythonEtcd3 => &[
                Extra::Link,
                Extra::EndSession,
                Extra::DataLoss,
                Extra::FailOver,
            ],
            // A line to the proxy is none to etcd.
            Way::GrpcProxy => &[Extra::EndSession, Extra::DataLoss],
        }
    }

    async fn start(&self) -> io::Result<Servers> {
        let program = self.flavour.find().map_err(io::Error::other)?;
        let node = Node::start(&program, &Options::default()).await?;
        let proxy = match self.way {
            Way::Direct | Way::PythonEtcd3 => None,
            Way::GrpcProxy => Some(GrpcProxy::start(&program, node.address()).await?),
        };
        Ok(Servers { proxy, node })
    }

    fn url(&self, servers: &Servers, prefix: &str) -> String {
        self.url_at(servers, servers.address(), prefix)
    }

    fn server(&self, servers: &Servers) -> Option<SocketAddr> {
        Some(servers.address())
    }

    fn url_at(&self, _: &Servers, address: SocketAddr, prefix: &str) -> String {
        let format = match self.way {
            Way::Direct | Way::GrpcProxy => "concurrency",
            Way::PythonEtcd3 => "python-etcd3",
        };
        // The prefix comes last: the suite reads it there.
        format!("etcd://{address}?format={format}&prefix={prefix}")
    }

    fn separator(&self) -> &'static str {
        "/"
    }

    async fn residue(&self, servers: &Servers, prefix: &str) -> Result<Vec<String>> {
        let keys = servers.node.keys(prefix).await.map_err(broken)?;
        let keys = keys.into_iter().map(|entry| entry.key);
        let is_own = |key: &String| OWN.iter().any(|own| key.ends_with(own));
        Ok(keys.filter(|key| !is_own(key)).collect())
    }

    async fn end_session(&self, servers: &Servers, prefix: &str, name: &LockName) -> Result<()> {
        let node = &servers.node;
        // The first one has the lock.
        let places = match self.way {
            Way::Direct | Way::GrpcProxy => places(node, prefix, name).await,
            Way::PythonEtcd3 => node.keys(&format!("{prefix}{name}")).await,
        }
        .map_err(broken)?;
        match places.first() {
            Some(holder) => node.revoke(holder.lease).await.map_err(broken),
            None => Ok(()),
        }
    }

    /// All keys go; the revision, which tokens are, is what etcd cannot lose but with all its data.
    async fn lose_data(&self, servers: &mut Servers, prefix: &str) -> Result<()> {
        for key in self.residue(servers, prefix).await? {
            servers.node.delete(&key).await.map_err(broken)?;
        }
        Ok(())
    }

    async fn fail_over(&self, servers: &mut Servers, _: &str, _: &LockName) -> Result<()> {
        servers.node.restart().await.map_err(broken)
    }
}

/// The queue of a lock.
async fn places(node: &Node, prefix: &str, name: &LockName) -> io::Result<Vec<Entry>> {
    // As the key has it.
    let directory = format!("{prefix}{}/", name.as_str().replace('/', "%2F"));
    node.keys(&directory).await
}
