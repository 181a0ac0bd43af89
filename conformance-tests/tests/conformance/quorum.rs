//! `redis-quorum:`, over several servers.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Result};
use dlock_layers::quorum;

use crate::{
    redis::{Redis, Running},
    store::{Store, cannot},
};

#[derive(Debug)]
pub(super) struct Quorum {
    name: &'static str,
    node: Redis,
    nodes: usize,
}

impl Quorum {
    /// So many servers of the newest Redis.
    pub(super) fn new(name: &'static str, nodes: usize) -> Self {
        let node = Redis::newest();
        Self { name, node, nodes }
    }
}

#[async_trait]
impl Store for Quorum {
    type Servers = Vec<Running>;

    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        quorum::capabilities(&vec![self.node.capabilities(); self.nodes], true)
    }

    fn available(&self) -> Result<(), String> {
        self.node.available()
    }

    fn extras(&self) -> &[Extra] {
        &[]
    }

    async fn start(&self) -> io::Result<Self::Servers> {
        let mut servers = Vec::new();
        for _ in 0..self.nodes {
            servers.push(self.node.start().await?);
        }
        Ok(servers)
    }

    fn url(&self, servers: &Self::Servers, prefix: &str) -> String {
        let addresses = servers.iter().filter_map(|server| self.node.server(server));
        let hosts: Vec<_> = addresses.map(|address| address.to_string()).collect();
        let (Some(first), Some(host)) = (servers.first(), hosts.first()) else {
            return String::new();
        };
        let url = self.node.url(first, prefix);
        let url = url.replacen(host, &hosts.join(","), 1);
        // A busy machine answers late, which is no fault here.
        let url = url.replacen("prefix=", "node_timeout=1s&prefix=", 1);
        url.replacen("redis:", "redis-quorum:", 1)
    }

    fn server(&self, _: &Self::Servers) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, servers: &Self::Servers, _: SocketAddr, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    fn separator(&self) -> &'static str {
        self.node.separator()
    }

    async fn remove(&self, servers: &Self::Servers, prefix: &str, name: &LockName) -> Result<()> {
        for server in servers {
            self.node.remove(server, prefix, name).await?;
        }
        Ok(())
    }

    async fn residue(&self, servers: &Self::Servers, prefix: &str) -> Result<Vec<String>> {
        let mut residue = Vec::new();
        for server in servers {
            residue.extend(self.node.residue(server, prefix).await?);
        }
        Ok(residue)
    }

    async fn lose_data(&self, _: &mut Self::Servers, _: &str) -> Result<()> {
        Err(cannot("lose its data"))
    }

    async fn fail_over(&self, _: &mut Self::Servers, _: &str, _: &LockName) -> Result<()> {
        Err(cannot("fail over"))
    }
}
