//! `etcd:`, on each version of it, and behind its own gRPC proxy.

use std::io;

use async_trait::async_trait;
use conformance_tests::servers::etcd::{Flavour, GrpcProxy, Node, Options};
use dlock_core::{Capabilities, LockName, Result};
use dlock_etcd::EtcdLock;

use crate::store::{Store, broken};

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
    GrpcProxy,
}

#[derive(Debug)]
pub(super) struct Servers {
    proxy: Option<GrpcProxy>,
    node: Node,
}

impl Etcd {
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
        direct.chain([behind_proxy])
    }
}

#[async_trait]
impl Store for Etcd {
    type Servers = Servers;

    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        EtcdLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn start(&self) -> io::Result<Servers> {
        let program = self.flavour.find().map_err(io::Error::other)?;
        let node = Node::start(&program, &Options::default()).await?;
        let proxy = match self.way {
            Way::Direct => None,
            Way::GrpcProxy => Some(GrpcProxy::start(&program, node.address()).await?),
        };
        Ok(Servers { proxy, node })
    }

    fn url(&self, servers: &Servers, prefix: &str) -> String {
        let proxy = servers.proxy.as_ref().map(GrpcProxy::address);
        let address = proxy.unwrap_or_else(|| servers.node.address());
        format!("etcd://{address}?prefix={prefix}")
    }

    fn separator(&self) -> &'static str {
        "/"
    }

    async fn remove(&self, servers: &Servers, prefix: &str, name: &LockName) -> Result<()> {
        // As it stands in a key.
        let place = format!("/{}/", name.as_str().replace('/', "%2F"));
        for key in self.residue(servers, prefix).await? {
            if format!("/{key}").contains(&place) {
                servers.node.delete(&key).await.map_err(broken)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, servers: &Servers, prefix: &str) -> Result<Vec<String>> {
        let keys = servers.node.keys(prefix).await.map_err(broken)?;
        let keys = keys.into_iter().map(|entry| entry.key);
        // The version of the layout stays.
        Ok(keys
            .filter(|key| !key.ends_with("/%dlock-layout"))
            .collect())
    }
}
