//! `redis-quorum:`, over several servers.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Result};
use dlock_layers::quorum;

use crate::{
    redis::{Redis, Running},
    store::{Store, cannot, timeouts, with_keys},
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

    /// The URL of the servers at `addresses`, as `of_node` is that of one.
    fn url_of(
        &self,
        servers: &[Running],
        addresses: &[SocketAddr],
        of_node: impl Fn(&Running) -> String,
    ) -> String {
        let own = servers
            .first()
            .and_then(|first| Some((first, self.node.server(first)?)));
        let Some((first, own)) = own else {
            return String::new();
        };
        let hosts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let url = of_node(first).replacen(&own.to_string(), &hosts.join(","), 1);
        // A busy machine answers late, which is no fault here.
        let url = with_keys(&url, "node_timeout=1s");
        url.replacen("redis:", "redis-quorum:", 1)
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

    /// A minority may lose its data without a loss, which is tested in dlock-layers.
    fn extras(&self) -> &[Extra] {
        &[Extra::Link, Extra::FailOver]
    }

    async fn start(&self) -> io::Result<Self::Servers> {
        let mut servers = Vec::new();
        for _ in 0..self.nodes {
            servers.push(self.node.start().await?);
        }
        Ok(servers)
    }

    fn url(&self, servers: &Self::Servers, prefix: &str) -> String {
        self.url_of(servers, &self.linked(servers), |node| {
            self.node.url(node, prefix)
        })
    }

    fn url_alone(&self, servers: &Self::Servers, prefix: &str) -> String {
        self.url_of(servers, &self.linked(servers), |node| {
            self.node.url_alone(node, prefix)
        })
    }

    fn server(&self, _: &Self::Servers) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, servers: &Self::Servers, _: SocketAddr, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    fn linked(&self, servers: &Self::Servers) -> Vec<SocketAddr> {
        let servers = servers.iter();
        servers
            .filter_map(|server| self.node.server(server))
            .collect()
    }

    fn linked_url(&self, servers: &Self::Servers, at: &[SocketAddr], prefix: &str) -> String {
        let url = self.url_of(servers, at, |node| self.node.url(node, prefix));
        with_keys(&url, &timeouts(self.connect_max()))
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

    /// Restarts one of them.
    async fn fail_over(
        &self,
        servers: &mut Self::Servers,
        prefix: &str,
        name: &LockName,
    ) -> Result<()> {
        match servers.first_mut() {
            Some(first) => self.node.fail_over(first, prefix, name).await,
            None => Err(cannot("fail over")),
        }
    }
}
