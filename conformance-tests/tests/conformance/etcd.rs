//! `etcd:`, on each version of it.

use std::io;

use async_trait::async_trait;
use conformance_tests::servers::etcd::{Flavour, Node, Options};
use dlock_core::{Capabilities, LockName, Result};
use dlock_etcd::EtcdLock;

use crate::store::{Store, broken};

#[derive(Debug)]
pub(super) struct Etcd(pub(super) Flavour);

#[async_trait]
impl Store for Etcd {
    type Servers = Node;

    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        EtcdLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.0.find().map(drop)
    }

    async fn start(&self) -> io::Result<Node> {
        let program = self.0.find().map_err(io::Error::other)?;
        Node::start(&program, &Options::default()).await
    }

    fn url(&self, node: &Node, prefix: &str) -> String {
        format!("etcd://{}?prefix={prefix}", node.address())
    }

    fn separator(&self) -> &'static str {
        "/"
    }

    async fn remove(&self, node: &Node, prefix: &str, name: &LockName) -> Result<()> {
        // As it stands in a key.
        let place = format!("/{}/", name.as_str().replace('/', "%2F"));
        for key in self.residue(node, prefix).await? {
            if format!("/{key}").contains(&place) {
                node.delete(&key).await.map_err(broken)?;
            }
        }
        Ok(())
    }

    async fn residue(&self, node: &Node, prefix: &str) -> Result<Vec<String>> {
        let keys = node.keys(prefix).await.map_err(broken)?;
        Ok(keys.into_iter().map(|entry| entry.key).collect())
    }
}
