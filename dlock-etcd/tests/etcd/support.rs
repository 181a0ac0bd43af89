//! Support for the cases: a server of their own, its clients, and bounds.

use std::{future::Future, net::SocketAddr, time::Duration};

use dlock::Locker;
use dlock_servers::etcd::{Entry, Login, Node, Options};
use dlock_verify::{proxy::Proxy, support};

pub(crate) use dlock_servers::etcd::Flavour;
pub(crate) use dlock_verify::{
    cases,
    support::{Outcome, drop_after_polls, poll_times, refused, soon, take, until, within},
};

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(180);

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Flavour) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour))
}

pub(crate) async fn start(flavour: Flavour) -> Outcome<Node> {
    start_with(flavour, Login::Open, &[]).await
}

pub(crate) async fn start_with(
    flavour: Flavour,
    login: Login,
    arguments: &[&str],
) -> Outcome<Node> {
    let options = Options {
        login,
        arguments: arguments.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Ok(Node::start(&flavour.find()?, &options).await?)
}

/// A client of one member, with a long ttl unless `keys` say otherwise.
pub(crate) async fn connect(address: SocketAddr, keys: &str) -> dlock::Result<Locker> {
    connect_all(&[address], keys).await
}

/// A client of several members.
pub(crate) async fn connect_all(addresses: &[SocketAddr], keys: &str) -> dlock::Result<Locker> {
    let hosts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let ttl = if keys.contains("ttl=") {
        ""
    } else {
        "ttl=120s&"
    };
    let url = format!("etcd://{}?{ttl}{keys}", hosts.join(","));
    dlock::connect(url.trim_end_matches(['&', '?'])).await
}

/// A member that is reached in two ways, and a client that knows both: what it does when one of them
/// fails.
pub(crate) struct TwoWays {
    pub(crate) node: Node,
    pub(crate) ways: [Proxy; 2],
    pub(crate) locker: Locker,
}

impl TwoWays {
    pub(crate) async fn new(flavour: Flavour, keys: &str) -> Outcome<Self> {
        let node = start(flavour).await?;
        let ways = [Proxy::start(node.address())?, Proxy::start(node.address())?];
        let addresses = [ways[0].address(), ways[1].address()];
        let locker = connect_all(&addresses, keys).await?;
        Ok(Self { node, ways, locker })
    }
}

/// The keys in the queue of a lock.
pub(crate) async fn queue_keys(node: &Node, name: &str) -> Outcome<Vec<Entry>> {
    Ok(node.keys(&format!("dlock/{name}/")).await?)
}

/// Waits until the queue of `name` has this many keys.
pub(crate) async fn until_queue_length(node: &Node, name: &str, count: usize) -> Outcome {
    until(format!("{count} keys"), async || {
        Ok(queue_keys(node, name).await?.len() == count)
    })
    .await
}

/// The key with the version of the layout under the default prefix; it stays.
pub(crate) const LAYOUT: &str = "dlock/%dlock-layout";

/// All keys but that one.
pub(crate) async fn keys(node: &Node) -> Outcome<Vec<Entry>> {
    let mut keys = node.keys("").await?;
    keys.retain(|entry| entry.key != LAYOUT);
    Ok(keys)
}

/// The settings to share locks with python-etcd3: the prefix is its own.
pub(crate) const PYTHON: &str = "format=python-etcd3";

/// Waits until nothing is left in the server: no key and no lease (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    until("nothing is left", async || {
        Ok(keys(node).await?.is_empty() && node.leases().await?.is_empty())
    })
    .await
}
