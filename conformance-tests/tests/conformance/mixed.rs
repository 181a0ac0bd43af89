//! `quorum:`, over three stores of different kinds.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Result, config::BackendUrl};
use dlock_layers::quorum;

use crate::store::{Store, cannot};

#[derive(Debug)]
pub(super) struct Mixed<A, B, C> {
    name: &'static str,
    nodes: (A, B, C),
}

impl<A: Store, B: Store, C: Store> Mixed<A, B, C> {
    pub(super) fn new(name: &'static str, nodes: (A, B, C)) -> Self {
        Self { name, nodes }
    }
}

#[async_trait]
impl<A: Store, B: Store, C: Store> Store for Mixed<A, B, C> {
    type Servers = (A::Servers, B::Servers, C::Servers);

    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        let (a, b, c) = &self.nodes;
        // One of them has no counter that can be raised.
        quorum::capabilities(
            &[a.capabilities(), b.capabilities(), c.capabilities()],
            false,
        )
    }

    fn available(&self) -> Result<(), String> {
        let (a, b, c) = &self.nodes;
        a.available()?;
        b.available()?;
        c.available()
    }

    fn extras(&self) -> &[Extra] {
        &[Extra::Link]
    }

    fn lost_locks_stay(&self) -> bool {
        let (a, b, c) = &self.nodes;
        a.lost_locks_stay() || b.lost_locks_stay() || c.lost_locks_stay()
    }

    async fn start(&self) -> io::Result<Self::Servers> {
        let (a, b, c) = &self.nodes;
        Ok((a.start().await?, b.start().await?, c.start().await?))
    }

    async fn prepare(&self, servers: &Self::Servers, prefix: &str) -> Result<()> {
        let (a, b, c) = &self.nodes;
        a.prepare(&servers.0, prefix).await?;
        b.prepare(&servers.1, prefix).await?;
        c.prepare(&servers.2, prefix).await
    }

    fn url(&self, servers: &Self::Servers, prefix: &str) -> String {
        let (a, b, c) = &self.nodes;
        url([
            a.url(&servers.0, prefix),
            b.url(&servers.1, prefix),
            c.url(&servers.2, prefix),
        ])
    }

    fn server(&self, _: &Self::Servers) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, servers: &Self::Servers, _: SocketAddr, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    fn linked(&self, servers: &Self::Servers) -> Vec<SocketAddr> {
        let (a, b, c) = &self.nodes;
        [
            a.linked(&servers.0),
            b.linked(&servers.1),
            c.linked(&servers.2),
        ]
        .concat()
    }

    fn linked_url(&self, servers: &Self::Servers, at: &[SocketAddr], prefix: &str) -> String {
        let (a, b, c) = &self.nodes;
        let (of_a, others) = at.split_at(a.linked(&servers.0).len());
        let (of_b, of_c) = others.split_at(b.linked(&servers.1).len());
        url([
            a.linked_url(&servers.0, of_a, prefix),
            b.linked_url(&servers.1, of_b, prefix),
            c.linked_url(&servers.2, of_c, prefix),
        ])
    }

    fn separator(&self) -> &'static str {
        // That of etcd, whose own keys end with it. The others take any.
        "/"
    }

    async fn remove(&self, servers: &Self::Servers, prefix: &str, name: &LockName) -> Result<()> {
        let (a, b, c) = &self.nodes;
        a.remove(&servers.0, prefix, name).await?;
        b.remove(&servers.1, prefix, name).await?;
        c.remove(&servers.2, prefix, name).await
    }

    async fn residue(&self, servers: &Self::Servers, prefix: &str) -> Result<Vec<String>> {
        let (a, b, c) = &self.nodes;
        let mut residue = a.residue(&servers.0, prefix).await?;
        residue.extend(b.residue(&servers.1, prefix).await?);
        residue.extend(c.residue(&servers.2, prefix).await?);
        Ok(residue)
    }

    async fn lose_data(&self, _: &mut Self::Servers, _: &str) -> Result<()> {
        Err(cannot("lose its data"))
    }

    async fn fail_over(&self, _: &mut Self::Servers, _: &str, _: &LockName) -> Result<()> {
        Err(cannot("fail over"))
    }
}

/// The URL of a quorum of nodes with URLs.
fn url(nodes: [String; 3]) -> String {
    let all = BackendUrl::parse("quorum:").map(|all| {
        let [a, b, c] = nodes;
        // A busy machine answers late, which is no fault here.
        all.with_param("node_timeout", "1s")
            .with_param("1", a)
            .with_param("2", b)
            .with_param("3", c)
            .expose()
    });
    all.unwrap_or_default()
}
