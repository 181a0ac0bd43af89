//! A primary with replicas, watched by Sentinels.

use std::{io, net::SocketAddr};

use super::{Login, Node, Options, Reply, node::Group};
use crate::{Program, until::until};

/// How the Sentinels call the primary.
const NAME: &str = "primary";

/// The number of Sentinels: two of three decide that the primary is down.
const SENTINELS: usize = 3;
const QUORUM: usize = 2;

/// Short, so that a test of a failover takes seconds; long enough for a busy machine to answer.
const DOWN_AFTER_MS: u32 = 2_000;

/// An attempt to fail over that failed is repeated after twice this.
const FAILOVER_MAX_MS: u32 = 10_000;

/// A primary with replicas and three Sentinels; they end when this is dropped.
#[derive(Debug)]
pub struct Replicated {
    nodes: Vec<Node>,
    sentinels: Vec<Node>,
}

impl Replicated {
    /// Starts them, and waits until the replicas follow and the Sentinels know all of them.
    ///
    /// # Errors
    ///
    /// When one does not start or they do not find each other.
    ///
    /// # Cancel safety
    ///
    /// What was started ends.
    pub async fn start(program: &Program, options: &Options, replicas: usize) -> io::Result<Self> {
        let group = Group::new(program, options)?;
        let primary = group.data(&[]).await?;
        let port = primary.address().port();
        let mut nodes = vec![primary];
        for _ in 0..replicas {
            let line = format!("replicaof 127.0.0.1 {port}");
            nodes.push(group.data(&[line]).await?);
        }
        for replica in &nodes[1..] {
            replica.until_it_follows(&nodes[0]).await?;
        }
        let lines = watch(port, &options.login);
        let mut sentinels = Vec::new();
        for _ in 0..SENTINELS {
            sentinels.push(group.sentinel(&lines).await?);
        }
        let started = Self { nodes, sentinels };
        started.until_complete().await?;
        Ok(started)
    }

    /// How the Sentinels call the primary.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The servers with data; the first was the primary at the start.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes, to be killed and started again.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The Sentinels.
    pub fn sentinels(&mut self) -> &mut [Node] {
        &mut self.sentinels
    }

    /// The addresses of the Sentinels.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(Node::address).collect()
    }

    /// The index in [`nodes`](Self::nodes) of the one that at least two Sentinels call the primary,
    /// and which says so itself.
    ///
    /// # Errors
    ///
    /// When there is none at present.
    pub async fn primary(&self) -> io::Result<usize> {
        let mut votes = vec![0; self.nodes.len()];
        for sentinel in &self.sentinels {
            let question = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
            let Ok(Reply::Array(address)) = sentinel.command(&question).await else {
                continue;
            };
            let named = |node: &Node| {
                let port = Reply::Text(node.address().port().to_string());
                address.get(1) == Some(&port)
            };
            if let Some(index) = self.nodes.iter().position(named) {
                votes[index] += 1;
            }
        }
        let chosen = votes.iter().position(|votes| *votes >= QUORUM);
        let chosen = chosen.ok_or_else(|| io::Error::other(format!("votes: {votes:?}")))?;
        match self.nodes[chosen].info("role").await?.as_str() {
            "master" => Ok(chosen),
            role => Err(io::Error::other(format!("the chosen primary is a {role}"))),
        }
    }

    /// Waits until another one than `former` is the primary: the new one's index.
    ///
    /// # Errors
    ///
    /// When that takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub async fn until_promoted(&self, former: usize) -> io::Result<usize> {
        until("another primary", || async {
            match self.primary().await? {
                same if same == former => Err(io::Error::other("it is still the same")),
                new => Ok(new),
            }
        })
        .await
    }

    /// Moves the primary to a replica while all are well: the new one's index.
    ///
    /// # Errors
    ///
    /// When a Sentinel refuses, or it takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// The move may go on.
    pub async fn fail_over(&self) -> io::Result<usize> {
        let former = self.primary().await?;
        // Refused while a replica's link is new, and while the last one is being finished.
        until("a failover that begins", || async {
            let command = ["SENTINEL", "FAILOVER", NAME];
            self.sentinels[0].command(&command).await.map(drop)
        })
        .await?;
        self.until_promoted(former).await
    }

    /// Waits until each Sentinel knows all replicas and the other Sentinels, and calls all of them well. That is
    /// so after the start, and after a killed one has come back.
    ///
    /// # Errors
    ///
    /// When that takes more than a minute.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub async fn until_complete(&self) -> io::Result<()> {
        let expected = [
            ("num-slaves", self.nodes.len() - 1),
            ("num-other-sentinels", SENTINELS - 1),
        ];
        for sentinel in &self.sentinels {
            until("a Sentinel that knows all others", || async {
                let known = sentinel
                    .command(&["SENTINEL", "MASTER", NAME])
                    .await?
                    .array()?;
                for (field, count) in expected {
                    expect(&known, field, &count.to_string())?;
                }
                expect(&known, "flags", "master")
            })
            .await?;
        }
        Ok(())
    }
}

/// The lines of the configuration that make a Sentinel watch the primary on `port`.
fn watch(port: u16, login: &Login) -> Vec<String> {
    let mut lines = vec![
        format!("sentinel monitor {NAME} 127.0.0.1 {port} {QUORUM}"),
        format!("sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}"),
        format!("sentinel failover-timeout {NAME} {FAILOVER_MAX_MS}"),
    ];
    let user = format!("sentinel auth-user {NAME}");
    let password = format!("sentinel auth-pass {NAME}");
    lines.extend(login.use_at(&user, &password));
    lines
}

/// Fields and values alternate.
fn expect(reply: &[Reply], field: &str, value: &str) -> io::Result<()> {
    let text = |text: &str| Reply::Text(text.to_owned());
    let mut pairs = reply.chunks_exact(2);
    let found = pairs
        .find(|pair| pair[0] == text(field))
        .map(|pair| &pair[1]);
    if found == Some(&text(value)) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{field} is {found:?}, not {value}"
    )))
}
