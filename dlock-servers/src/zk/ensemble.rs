//! An ensemble: three servers, of which one leads.

use std::io;

use super::{Java, Node, Options, node::Member};
use crate::{Links, Port, until::until};
use dlock_verify::proxy::{Fault, Proxy};

/// How many servers there are: one may be missing.
const SIZE: usize = 3;

/// An ensemble of three servers; they end when this is dropped.
#[derive(Debug)]
pub struct Ensemble {
    nodes: Vec<Node>,
    /// The proxies in front of the port where each server leads, one for each other server.
    links: Links,
}

impl Ensemble {
    /// Starts them with nothing in them, and waits until all serve.
    ///
    /// # Errors
    ///
    /// When one does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The servers end.
    pub async fn start(java: &Java, options: &Options) -> io::Result<Self> {
        let ports: Vec<[Port; 2]> = (0..SIZE)
            .map(|_| Ok([Port::reserve()?, Port::reserve()?]))
            .collect::<io::Result<_>>()?;
        let mut links = Vec::new();
        let mut nodes = Vec::new();
        for from in 0..SIZE {
            let towards = ports.iter().map(|[lead, _]| Proxy::start(lead.address()));
            let towards: Vec<Proxy> = towards.collect::<io::Result<_>>()?;
            let lines = ports.iter().zip(&towards).enumerate();
            let lines = lines.map(|(to, ([lead, elect], link))| {
                // Its own port it has to listen on.
                let lead = if from == to {
                    lead.number()
                } else {
                    link.address().port()
                };
                format!("server.{}=127.0.0.1:{lead}:{}", to + 1, elect.number())
            });
            let member = Member {
                id: from + 1,
                lines: lines.collect(),
            };
            nodes.push(Node::new(java, options, &member)?);
            links.push(towards);
        }
        for (node, ports) in nodes.iter_mut().zip(ports) {
            node.keep(ports);
        }
        if let [a, b, c] = &mut nodes[..] {
            tokio::try_join!(a.resume(), b.resume(), c.resume())?;
        }
        Ok(Self {
            nodes,
            links: Links::new(links, Vec::new()),
        })
    }

    /// The servers, by their number.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The servers, to kill and resume.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The addresses for clients, separated by commas.
    #[must_use]
    pub fn addresses(&self) -> String {
        let addresses = self.nodes.iter().map(|node| node.address().to_string());
        addresses.collect::<Vec<_>>().join(",")
    }

    /// Waits until one leads, and says which.
    ///
    /// # Errors
    ///
    /// When there is none within a minute.
    pub async fn leader(&self) -> io::Result<usize> {
        until("a leader", || async {
            for (index, node) in self.nodes.iter().enumerate() {
                if node.mode().await.is_ok_and(|mode| mode == "leader") {
                    return Ok(index);
                }
            }
            Err(io::Error::other("no leader"))
        })
        .await
    }

    /// The index of a server that follows the leader.
    ///
    /// # Errors
    ///
    /// As [`leader`](Self::leader).
    pub async fn follower(&self) -> io::Result<usize> {
        let leader = self.leader().await?;
        Ok((leader + 1) % SIZE)
    }

    /// The way from one server to where another one leads.
    #[must_use]
    pub fn link(&self, from: usize, to: usize) -> &Proxy {
        self.links.link(from, to)
    }

    /// Cuts a server off from the others, or sets another fault for what goes between them: elections
    /// are not touched.
    pub fn set(&self, node: usize, fault: Fault) {
        self.links.set(node, fault);
    }

    /// The servers and the network between them, to be used at the same time.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Node>, Links) {
        (self.nodes, self.links)
    }

    /// Waits until every server serves.
    ///
    /// # Errors
    ///
    /// When one does not within a minute.
    pub async fn until_complete(&self) -> io::Result<()> {
        until("all servers serve", || async {
            for node in &self.nodes {
                node.mode().await?;
            }
            Ok(())
        })
        .await
    }
}
