//! What the cases work with: a server of their own, clients of it, and bounds.

use std::{
    fmt::Display,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    task::Poll,
    time::Duration,
};

use conformance_tests::servers::{
    Program,
    redis::{Flavour, Node, Options, Persistence, Reply},
};
use dlock::{Guard, Locker};
use libtest_mimic::Failed;
use tokio::{runtime::Builder, time::timeout};

/// What a case ends with: anything that can be displayed is a reason to fail.
pub(crate) type Outcome<T = ()> = Result<T, Failed>;

/// What must happen happens within this; far less than [`TTL_LONG`].
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// A ttl that no case lives to see the end of: what is free before was not freed by time.
pub(crate) const TTL_LONG: Duration = Duration::from_secs(120);

/// What may go wrong once in a while is tried this often.
pub(crate) const RACES: u32 = 50;

/// How often a state is looked at that nothing tells of.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The trials of these cases on one server.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) fn trials(
            flavour: conformance_tests::servers::redis::Flavour,
        ) -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                format!("{}::{}", flavour.name(), stringify!($case)),
                move || crate::kit::run(flavour, $case),
            )),*]
        }
    };
}
pub(crate) use cases;

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Program) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let program = flavour.find()?;
    let outcome = runtime.block_on(case(program));
    runtime.shutdown_background();
    outcome
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
    open(address, &format!("restart_guard=0s&ttl={ttl}s&{keys}")).await
}

/// A client with these settings and no others.
pub(crate) async fn open(address: SocketAddr, keys: &str) -> dlock::Result<Locker> {
    dlock::connect(format!("redis://{address}?{}", keys.trim_end_matches('&')).as_str()).await
}

/// The guard of a lock that must be free.
pub(crate) async fn take(locker: &Locker, name: &str) -> Outcome<Guard> {
    let guard = locker.try_acquire(name).await?;
    guard.ok_or_else(|| format!("{name} is taken").into())
}

/// Takes and releases a lock: the server knows the scripts then.
pub(crate) async fn warm_up(locker: &Locker) -> Outcome {
    Ok(take(locker, "warm").await?.release().await?)
}

/// The error that must come.
pub(crate) fn refused<T>(result: dlock::Result<T>) -> Outcome<dlock::Error> {
    let error = result.err().ok_or("it succeeded")?;
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 300, "{line}");
    Ok(error)
}

/// The keys of locks, without the counters of tokens.
pub(crate) async fn locks(node: &Node) -> Outcome<Vec<String>> {
    let keys = node.ask(&["KEYS", "*"]).await?.array()?;
    let keys = keys.into_iter().map(Reply::text);
    let keys = keys.collect::<io::Result<Vec<_>>>()?;
    let is_lock = |key: &String| !key.ends_with("}:fence");
    Ok(keys.into_iter().filter(is_lock).collect())
}

/// The value of the lock `name`, if it is taken.
pub(crate) async fn value(node: &Node, name: &str) -> Outcome<Option<String>> {
    match node.ask(&["GET", &format!("dlock:{name}")]).await? {
        Reply::Nil => Ok(None),
        reply => Ok(Some(reply.text()?)),
    }
}

/// Waits until nothing is left in the server: no lock, and nobody who listens (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    until("nothing is left", async || {
        let channels = node.ask(&["PUBSUB", "CHANNELS"]).await?.array()?;
        Ok(locks(node).await?.is_empty() && channels.is_empty())
    })
    .await
}

/// Waits until so many clients listen for the release of `name`.
pub(crate) async fn until_listeners(node: &Node, name: &str, count: i64) -> Outcome {
    let channel = format!("{{dlock:{name}}}:free");
    until(format!("{count} listen"), async || {
        let reply = node.ask(&["PUBSUB", "NUMSUB", &channel]).await?;
        let count_now = reply.array()?.pop().ok_or("no count")?.int()?;
        Ok(count_now == count)
    })
    .await
}

/// Looks until the state is there, or fails with what was waited for.
pub(crate) async fn until(what: impl Display, look: impl AsyncFn() -> Outcome<bool>) -> Outcome {
    let looking = async {
        while !look().await? {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    };
    soon(what, looking).await?
}

/// The result of a future that must end soon.
pub(crate) async fn soon<T>(what: impl Display, future: impl IntoFuture<Output = T>) -> Outcome<T> {
    within(SOON, what, future).await
}

pub(crate) async fn within<T>(
    bound: Duration,
    what: impl Display,
    future: impl IntoFuture<Output = T>,
) -> Outcome<T> {
    let late = |_| Failed::from(format!("not within {bound:?}: {what}"));
    timeout(bound, future).await.map_err(late)
}

/// Polls `future` at most `polls` times, then drops it; whether it had ended.
pub(crate) async fn drop_after_polls<T>(
    future: impl IntoFuture<Output = T>,
    polls: u32,
) -> Option<T> {
    let mut future = pin!(future.into_future());
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
