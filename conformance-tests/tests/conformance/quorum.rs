//! `redis-quorum:`, over several servers.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Result, config::BackendUrl};
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
        let urls = servers.iter().map(|server| self.node.url(server, prefix));
        let urls: Vec<_> = urls.flat_map(|url| BackendUrl::parse(&url)).collect();
        let hosts = urls.iter().flat_map(BackendUrl::hosts).cloned();
        let all = urls.first().map(|url| url.clone().with_hosts(hosts));
        let url = all.map(|url| url.expose()).unwrap_or_default();
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
