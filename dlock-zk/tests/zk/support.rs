//! Shared parts of the cases: servers of their own, clients of them, and bounds.

use std::{fmt::Display, future::Future, time::Duration};

use dlock::Locker;
use dlock_servers::zk::{Java, Node, Options};
use dlock_verify::{proxy::Proxy, support};
use zookeeper_client::{Client, Error as ZkError};

pub(crate) use dlock_servers::zk::Flavour;
pub(crate) use dlock_verify::{
    cases,
    support::{Outcome, SOON, drop_after_polls, refused, soon, take, until, within},
};

/// No case takes longer: one that hangs is named by its failure. Some cut an ensemble fifty times.
const CASE_MAX: Duration = Duration::from_secs(1_800);

/// The number of rounds for a fault that occurs only once in a while.
pub(crate) const RACES: u32 = 50;

/// A tenth of the stock tick.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Keys for servers with [`TICK`]: a session that no case lives to see the end of.
pub(crate) const LONG: &str = "tick=200ms&session=60s";

/// Keys for a [`SESSION`] that is short enough to wait for its end.
pub(crate) const SHORT: &str = "tick=200ms&session=3s&ttl=10s";

/// As [`SHORT`] says.
pub(crate) const SESSION: Duration = Duration::from_secs(3);

/// So long that an answer may be late by a second and still prove something.
pub(crate) const PROXIED_SESSION: Duration = Duration::from_secs(12);

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Java) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour.find()?))
}

/// Ticks are short, and sessions may be long.
pub(crate) fn quick() -> Options {
    let mut options = Options::with_tick(TICK);
    options.lines.push("maxSessionTimeout=60000".to_owned());
    options
}

/// A server that removes empty directories at once, which others do once a minute.
pub(crate) async fn start_tidy(java: &Java) -> Outcome<Node> {
    let mut options = quick();
    options
        .properties
        .push("znode.container.checkIntervalMs=500".to_owned());
    Ok(Node::start(java, &options).await?)
}

/// A server without an ensemble.
pub(crate) async fn start(java: &Java) -> Outcome<Node> {
    Ok(Node::start(java, &quick()).await?)
}

/// A server, a proxy before it, and a client with a [`PROXIED_SESSION`] over it.
pub(crate) async fn start_proxied(java: &Java) -> Outcome<(Node, Proxy, Locker)> {
    let node = start(java).await?;
    let proxy = Proxy::start(node.address())?;
    let keys = format!("tick=200ms&session={}s&ttl=30s", PROXIED_SESSION.as_secs());
    let locker = connect(proxy.address(), &keys).await?;
    Ok((node, proxy, locker))
}

/// A client with these settings.
pub(crate) async fn connect(addresses: impl Display, keys: &str) -> dlock::Result<Locker> {
    dlock::connect(format!("zk://{addresses}?{keys}").as_str()).await
}

/// The driver alone.
pub(crate) async fn driver(addresses: impl Display) -> Outcome<Client> {
    Ok(Client::connect(&addresses.to_string()).await?)
}

/// How many requests the server has been sent.
pub(crate) async fn packets(node: &Node) -> Outcome<u64> {
    Ok(node.metric("zk_packets_received").await?.parse()?)
}

/// The number of watches of nodes in queues that the server has and that have not fired. A holder's watch of its whole
/// queue does not count.
pub(crate) async fn watches(node: &Node) -> Outcome<u64> {
    let (mut is_in_queue, mut count) = (false, 0);
    // A path, and then a line for each session that watches it.
    for line in node.command("wchp").await?.lines() {
        match line.starts_with('/') {
            true => is_in_queue = line.contains("-lock-"),
            false => count += u64::from(is_in_queue && !line.trim().is_empty()),
        }
    }
    Ok(count)
}

/// The nodes in the directory of a lock.
pub(crate) async fn queue(client: &Client, name: &str) -> Outcome<Vec<String>> {
    match client.list_children(&format!("/dlock/{name}")).await {
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => Ok(children?),
    }
}

/// How many nodes were created and deleted in the queue of a lock.
pub(crate) async fn changes(client: &Client, name: &str) -> Outcome<i64> {
    let stat = client.check_stat(&format!("/dlock/{name}")).await?;
    Ok(stat.ok_or("no directory")?.cversion.into())
}

/// Waits until the queue of a lock has this length.
pub(crate) async fn until_queue(client: &Client, name: &str, length: usize) -> Outcome {
    until(format!("{length} in the queue of {name}"), async || {
        Ok(queue(client, name).await?.len() == length)
    })
    .await
}
