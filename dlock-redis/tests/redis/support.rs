//! Shared parts of the cases: a server of their own, clients of it, and bounds.

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    task::Poll,
    time::Duration,
};

use dlock::{Guard, Locker};
use dlock_core::Clock;
use dlock_servers::{
    Program,
    redis::{Node, Options, Persistence},
};
use dlock_verify::support;

pub(crate) use dlock_servers::redis::{
    Flavour,
    dlock_keys::{COUNTER, RECORD, acquaint, locks, value},
};
pub(crate) use dlock_verify::{
    cases,
    support::{
        Outcome, SOON, drop_after_polls, poll_times, refused, soon, take, taken_over, until, within,
    },
};

/// A ttl that no case lives to see the end of: what is free before was not freed by time.
pub(crate) const TTL_LONG: Duration = Duration::from_secs(120);

/// The number of rounds for a fault that occurs only once in a while.
pub(crate) const RACES: u32 = 50;

/// A woken waiter needs no more than this, and a ttl is far longer.
pub(crate) const WOKEN: Duration = Duration::from_secs(5);

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(60);

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Program) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour.find()?))
}

/// Makes `node` a replica of a primary, or a primary.
pub(crate) async fn follow(node: &Node, primary: Option<&Node>) -> Outcome {
    let address = primary.map(Node::address);
    let primary = address.map(|address| (address.ip().to_string(), address.port().to_string()));
    let (host, port) = match &primary {
        Some((host, port)) => (host.as_str(), port.as_str()),
        None => ("NO", "ONE"),
    };
    node.command(&["REPLICAOF", host, port]).await?;
    Ok(())
}

/// A primary, and a replica that has what it has.
pub(crate) async fn start_pair(program: &Program) -> Outcome<(Node, Node)> {
    // By default a primary waits 5 s for more replicas.
    let primary = start(program, &["repl-diskless-sync-delay 0"]).await?;
    let replica = start(program, &[]).await?;
    follow(&replica, Some(&primary)).await?;
    until("it follows", async || {
        Ok(replica.info("master_link_status").await? == "up")
    })
    .await?;
    Ok((primary, replica))
}

/// A server that keeps nothing, with further lines in its configuration.
pub(crate) async fn start(program: &Program, lines: &[&str]) -> io::Result<Node> {
    start_keeping(program, Persistence::None, lines).await
}

pub(crate) async fn start_keeping(
    program: &Program,
    persistence: Persistence,
    lines: &[&str],
) -> io::Result<Node> {
    let options = Options {
        persistence,
        lines: lines.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Node::start(program, &options).await
}

/// A client that does not mind that the server has just been started.
pub(crate) async fn connect(address: SocketAddr, keys: &str) -> dlock::Result<Locker> {
    let ttl = TTL_LONG.as_secs();
    open(
        address,
        &join(&[&format!("restart_guard=0s&ttl={ttl}s"), keys]),
    )
    .await
}

/// A client with these settings and no others.
pub(crate) async fn open(address: SocketAddr, keys: &str) -> dlock::Result<Locker> {
    let separator = if keys.is_empty() { "" } else { "?" };
    dlock::connect(format!("redis://{address}{separator}{keys}").as_str()).await
}

/// A client of a user who may do everything, but for what these rules of its ACL change.
pub(crate) async fn connect_as_user(node: &Node, rules: &[&str]) -> Outcome<Locker> {
    let user = [
        "ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all",
    ];
    node.command(&[&user[..], rules].concat()).await?;
    let (address, ttl) = (node.address(), TTL_LONG.as_secs());
    let url = format!("redis://shop:secret@{address}?restart_guard=0s&ttl={ttl}s");
    Ok(dlock::connect(url.as_str()).await?)
}

fn join(keys: &[&str]) -> String {
    let given = keys.iter().copied().filter(|keys| !keys.is_empty());
    given.collect::<Vec<_>>().join("&")
}

/// Takes and releases a lock: the server knows the scripts then.
pub(crate) async fn warm_up(locker: &Locker) -> Outcome {
    Ok(take(locker, "warm").await?.release().await?)
}

/// Whether the guard ends before the key does, so that no other client can have the lock before (K2).
pub(crate) async fn ends_first(guard: &Guard, node: &Node) -> Outcome {
    // A key has milliseconds.
    const ROUNDED: Duration = Duration::from_millis(1);
    let clock = Clock::boottime();
    let claimed = clock.now().after(guard.remaining());
    let began = clock.now();
    let key = format!("dlock:{}", guard.name());
    let left = node.command(&["PTTL", &key]).await?.int()?;
    let left = Duration::from_millis(u64::try_from(left)?);
    let expiry = began.after(left).after(ROUNDED);
    assert!(claimed <= expiry, "{:?} too long", claimed.since(expiry));
    Ok(())
}

/// How often this command was called, also by scripts.
pub(crate) async fn calls(node: &Node, command: &str) -> Outcome<u64> {
    let field = format!("cmdstat_{command}");
    let line = node.info(&field).await?;
    let calls = line
        .strip_prefix("calls=")
        .and_then(|line| line.split_once(','));
    Ok(calls.ok_or("no calls")?.0.parse()?)
}

/// Waits until nothing is left in the server: no lock, and no subscription (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    until("nothing is left", async || {
        // Sentinels have a channel of their own.
        let channels = node
            .command(&["PUBSUB", "CHANNELS", "*:free"])
            .await?
            .array()?;
        Ok(locks(node).await?.is_empty() && channels.is_empty())
    })
    .await
}

/// Waits until a waiter has marked the lock, so that its release is published.
pub(crate) async fn until_marked(node: &Node, name: &str) -> Outcome {
    until("the release is to be published", async || {
        let value = value(node, name).await?;
        Ok(value.is_some_and(|value| value.ends_with('\n')))
    })
    .await
}

/// Waits until so many clients listen for the release of `name`.
pub(crate) async fn until_listeners(node: &Node, name: &str, count: i64) -> Outcome {
    until_key_listeners(node, &format!("dlock:{name}"), count).await
}

/// Waits for `count` listeners of the lock with this whole key.
pub(crate) async fn until_key_listeners(node: &Node, key: &str, count: i64) -> Outcome {
    let channel = format!("{{{key}}}:free");
    until(format!("{count} listen"), async || {
        let reply = node.command(&["PUBSUB", "NUMSUB", &channel]).await?;
        let count_now = reply.array()?.pop().ok_or("no count")?.int()?;
        Ok(count_now == count)
    })
    .await
}

/// Waits for what goes on side by side; the first failure is that of all.
pub(crate) async fn all(futures: impl IntoIterator<Item: Future<Output = Outcome>>) -> Outcome {
    let mut going: Vec<_> = futures.into_iter().map(Box::pin).collect();
    poll_fn(|cx| {
        let mut failed = None;
        going.retain_mut(|future| match future.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(ended) => {
                failed = failed.take().or_else(|| ended.err());
                false
            }
        });
        match failed {
            Some(failed) => Poll::Ready(Err(failed)),
            None if going.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    })
    .await
}
