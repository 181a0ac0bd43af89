//! A server and its stand-by, behind one address.

use std::{io, net::SocketAddr, sync::Arc};

use super::{Node, Options, node::Group};
use crate::{Program, until::until};
use dlock_verify::proxy::Proxy;

use dlock_core::toolkit::Lock;

/// A primary and its replica, without Sentinels. New connections are led to the present primary, and the
/// others stay where they are, as with an address that moves. They end when this is dropped.
#[derive(Debug)]
pub struct Pair {
    nodes: [Node; 2],
    primary: usize,
    door: Proxy,
    leads_to: Arc<Lock<SocketAddr>>,
}

impl Pair {
    /// Starts both, and waits until the second follows the first.
    ///
    /// # Errors
    ///
    /// When one does not start.
    ///
    /// # Cancel safety
    ///
    /// What was started ends.
    pub async fn start(program: &Program, options: &Options) -> io::Result<Self> {
        let mut options = options.clone();
        // By default a primary waits 5 s for more replicas.
        options.lines.push("repl-diskless-sync-delay 0".to_owned());
        let group = Group::new(program, &options)?;
        let nodes = [group.data(&[]).await?, group.data(&[]).await?];
        follow(&nodes[1], &nodes[0]).await?;
        let leads_to = Arc::new(Lock::new(nodes[0].address()));
        let route = leads_to.clone();
        let door = Proxy::switch(move |_| Some(*route.lock()))?;
        Ok(Self {
            nodes,
            primary: 0,
            door,
            leads_to,
        })
    }

    /// The address for clients; it never changes.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// The one that new connections are led to.
    #[must_use]
    pub fn primary(&self) -> &Node {
        &self.nodes[self.primary]
    }

    /// Lets the other one take over. The first time that is orderly, and then the former primary, whose
    /// connections stay, is stopped before it gets anything new. The second time the primary dies, and
    /// the former one goes on with what it had.
    ///
    /// # Errors
    ///
    /// When a server refuses a command; and the third time, as there is no other server then.
    ///
    /// # Cancel safety
    ///
    /// The move may be half done.
    pub async fn fail_over(&mut self) -> io::Result<()> {
        let former = self.primary;
        let next = 1 - former;
        if former == 0 {
            let [first, second] = &self.nodes;
            second.command(&["REPLICAOF", "NO", "ONE"]).await?;
            follow(first, second).await?;
            first.stop()?;
            // What is written from now on is in no buffer for it.
            second
                .command(&["CLIENT", "KILL", "TYPE", "replica"])
                .await?;
        } else {
            self.nodes[former].kill()?;
            self.nodes[next].cont()?;
            self.nodes[next]
                .command(&["REPLICAOF", "NO", "ONE"])
                .await?;
        }
        self.primary = next;
        *self.leads_to.lock() = self.nodes[next].address();
        Ok(())
    }
}

/// Makes `replica` follow `primary`, and waits until it has what that has.
async fn follow(replica: &Node, primary: &Node) -> io::Result<()> {
    let port = primary.address().port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).await?;
    replica.until_it_follows(primary).await?;
    until("a replica that has everything", || async {
        let at = primary.info("master_repl_offset").await?;
        match replica.info("master_repl_offset").await? {
            same if same == at => Ok(()),
            other => Err(io::Error::other(format!("it is at {other} of {at}"))),
        }
    })
    .await
}
