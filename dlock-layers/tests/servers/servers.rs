//! The servers of a case, and what is in them.

use dlock::Locker;
use dlock_servers::{
    Program,
    redis::{
        Node, Options,
        dlock_keys::{acquaint, locks, value},
    },
};

use crate::{
    program,
    support::{Outcome, until},
};

/// Independent servers that keep nothing over a restart.
#[derive(Debug)]
pub(crate) struct Servers(pub(crate) Vec<Node>);

impl Servers {
    /// Starts `count` servers.
    pub(crate) async fn start(program: &Program, count: usize) -> Outcome<Self> {
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(Node::start(program, &Options::default()).await?);
        }
        Ok(Self(nodes))
    }

    /// Starts servers that have known dlock for an hour, and so wait for no guard until they restart.
    pub(crate) async fn start_known(program: &Program, count: usize) -> Outcome<Self> {
        let servers = Self::start(program, count).await?;
        for node in &servers.0 {
            acquaint(node).await?;
        }
        Ok(servers)
    }

    /// The URL of a client of all servers.
    pub(crate) fn url(&self, keys: &str) -> String {
        program::url(self.0.iter().map(Node::address), keys)
    }

    /// A client of all servers.
    pub(crate) async fn connect(&self, keys: &str) -> dlock::Result<Locker> {
        dlock::connect(self.url(keys).as_str()).await
    }

    /// Waits until nothing is left in any server: no lock, and no subscription (K12).
    pub(crate) async fn until_clean(&self) -> Outcome {
        for node in &self.0 {
            until_clean(node).await?;
        }
        Ok(())
    }
}

/// Waits until nothing is left in a server (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    let server = node.address();
    until(format!("nothing is left in {server}"), async || {
        let channels = node.command(&["PUBSUB", "CHANNELS", "*:free"]).await?;
        Ok(locks(node).await?.is_empty() && channels.array()?.is_empty())
    })
    .await
}

/// Waits until a server has the lock `name`.
pub(crate) async fn until_taken(node: &Node, name: &str) -> Outcome {
    until("the server has the lock", async || {
        Ok(value(node, name).await?.is_some())
    })
    .await
}
