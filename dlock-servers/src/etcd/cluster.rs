//! Members of one cluster.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use super::{Login, Node, Options, callers::caller, node::Place};
use crate::{Links, Port, Program, until::until};
use dlock_verify::proxy::{Fault, Proxy};

/// A cluster of three members; they end when this is dropped.
///
/// What one member sends to another one passes a proxy of the two: see [`link`](Self::link).
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    /// Before them is the address of each member for its peers, which routes to the link of the dialling member.
    links: Links,
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
        let link = |port: &Port| Proxy::start(port.address());
        let links = (0..Self::SIZE).map(|_| ports.iter().map(link).collect());
        let links: Vec<Vec<Proxy>> = links.collect::<io::Result<_>>()?;
        let directories = Arc::new(OnceLock::new());
        let doors = (0..Self::SIZE).map(|to| door(&links, to, &directories));
        let doors = doors.collect::<io::Result<Vec<_>>>()?;
        let members = doors.iter().enumerate();
        let members = members.map(|(at, door)| format!("m{at}=http://{}", door.address()));
        let members = members.collect::<Vec<_>>().join(",");
        let places = ports.into_iter().zip(&doors).enumerate();
        let nodes = places.map(|(at, (peer_port, door))| {
            let place = Place {
                name: format!("m{at}"),
                peer_port,
                advertised: door.address(),
                members: members.clone(),
            };
            Node::new(program, options, place, Login::Open)
        });
        let mut nodes = nodes.collect::<io::Result<Vec<_>>>()?;
        let of_nodes = nodes.iter().map(|node| node.process().directory().into());
        directories.get_or_init(|| of_nodes.collect::<Vec<PathBuf>>());
        let [a, b, c] = nodes.as_mut_slice() else {
            return Err(io::Error::other("a cluster has three members"));
        };
        // None is ready before another one is.
        tokio::try_join!(a.resume(), b.resume(), c.resume())?;
        a.let_in(options).await?;
        for node in [b, c] {
            node.now_logs_in(options);
        }
        Ok(Self {
            nodes,
            links: Links::new(links, doors),
        })
    }

    /// The members.
    #[must_use]
    pub fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The member with this index.
    #[must_use]
    pub fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    /// The addresses for clients, in the order of the members.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// The proxy of the connections that one member makes to another one.
    #[must_use]
    pub fn link(&self, from: usize, to: usize) -> &Proxy {
        self.links.link(from, to)
    }

    /// Cuts a member off from the others, both ways, or sets another fault for all that goes between
    /// them. Its clients still reach it.
    pub fn set(&self, node: usize, fault: Fault) {
        self.links.set(node, fault);
    }

    /// The members and the network between them, to be used at the same time.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Node>, Links) {
        (self.nodes, self.links)
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
            Err(io::Error::other("no leader"))
        })
        .await
    }
}

/// Routes the connections to the member `to`, once the members' processes are known.
fn door(
    links: &[Vec<Proxy>],
    to: usize,
    directories: &Arc<OnceLock<Vec<PathBuf>>>,
) -> io::Result<Proxy> {
    let ways: Vec<SocketAddr> = links.iter().map(|from| from[to].address()).collect();
    let (address, directories) = (Arc::new(OnceLock::new()), directories.clone());
    let own = address.clone();
    let door = Proxy::switch(move |client| {
        let from = caller(directories.get()?, client, *own.get()?)?;
        ways.get(from).copied()
    })?;
    address.get_or_init(|| door.address());
    Ok(door)
}
