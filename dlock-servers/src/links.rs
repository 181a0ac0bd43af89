//! The network between the servers of a cluster.

use dlock_verify::proxy::{Direction, Fault, Proxy};

/// The proxies between the servers of a cluster, by sender and receiver.
#[derive(Debug)]
pub struct Links {
    links: Vec<Vec<Proxy>>,
    /// The listeners before them, kept open.
    _doors: Vec<Proxy>,
}

impl Links {
    pub(super) fn new(links: Vec<Vec<Proxy>>, doors: Vec<Proxy>) -> Self {
        Self {
            links,
            _doors: doors,
        }
    }

    /// How many servers there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// The proxy of the connections that one server makes to another one.
    #[must_use]
    pub fn link(&self, from: usize, to: usize) -> &Proxy {
        &self.links[from][to]
    }

    /// Sets a fault for all that goes between a server and the others: [`Fault::Hold`] cuts it off, both ways.
    pub fn set(&self, server: usize, fault: Fault) {
        for other in (0..self.count()).filter(|other| *other != server) {
            for link in [self.link(server, other), self.link(other, server)] {
                link.set(Direction::ToServer, fault);
                link.set(Direction::ToClient, fault);
            }
        }
    }

    /// Sets a fault for what `from` sends to `to`, over the connections of both.
    pub fn set_one_way(&self, from: usize, to: usize, fault: Fault) {
        self.link(from, to).set(Direction::ToServer, fault);
        self.link(to, from).set(Direction::ToClient, fault);
    }
}
