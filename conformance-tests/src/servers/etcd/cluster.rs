//! Members of one cluster.

use std::{io, net::SocketAddr};

use super::{Login, Node, Options, node::Place};
use crate::{
    proxy::Proxy,
    servers::{Port, Program, until::until},
};

/// Three members; they end when this is dropped.
///
/// What the others send to a member passes a proxy.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    peers: Vec<Proxy>,
}

impl Cluster {
    /// How many members there are.
    pub const SIZE: usize = 3;

    /// Starts the members with nothing in them, and waits until all of them know the leader.
    ///
    /// # Errors
    ///
    /// When one does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The members end.
    pub async fn start(program: &Program, options: &Options) -> io::Result<Self> {
        let ports = (0..Self::SIZE).map(|_| Port::reserve());
        let ports = ports.collect::<io::Result<Vec<_>>>()?;
        let peers = ports.iter().map(|port| Proxy::start(port.address()));
        let peers = peers.collect::<io::Result<Vec<_>>>()?;
        let members = peers.iter().enumerate();
        let members = members.map(|(at, peer)| format!("m{at}=http://{}", peer.address()));
        let members = members.collect::<Vec<_>>().join(",");
        let places = ports.into_iter().zip(&peers).enumerate();
        let nodes = places.map(|(at, (peer_port, peer))| {
            let place = Place {
                name: format!("m{at}"),
                peer_port,
                advertised: peer.address(),
                members: members.clone(),
            };
            Node::new(program, options, place, Login::Open)
        });
        let mut nodes = nodes.collect::<io::Result<Vec<_>>>()?;
        let [a, b, c] = nodes.as_mut_slice() else {
            return Err(io::Error::other("a cluster has three members"));
        };
        // None is ready before another one is.
        tokio::try_join!(a.resume(), b.resume(), c.resume())?;
        a.let_in(options).await?;
        for node in [b, c] {
            node.now_logs_in(options);
        }
        Ok(Self { nodes, peers })
    }

    /// The members.
    #[must_use]
    pub fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// One member.
    #[must_use]
    pub fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    /// Where clients connect to, in the order of the members.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// What stands before the port of each member that the others connect to.
    #[must_use]
    pub fn peers(&self) -> &[Proxy] {
        &self.peers
    }

    /// The member that leads, once there is one that those others agree on which answer.
    ///
    /// # Errors
    ///
    /// When there is none within a minute.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub async fn leader(&self) -> io::Result<usize> {
        until("a leader", || async {
            for (at, node) in self.nodes.iter().enumerate() {
                if node.leads().await.unwrap_or(false) {
                    return Ok(at);
                }
            }
            Err(io::Error::other("nobody leads"))
        })
        .await
    }
}
