//! What the cases work with: a server of their own, clients of it, and bounds.

use std::{
    fmt::Display,
    future::{Future, poll_fn},
    net::SocketAddr,
    pin::pin,
    task::Poll,
    time::Duration,
};

use conformance_tests::{
    proxy::Proxy,
    servers::etcd::{Entry, Flavour, Login, Node, Options},
};
use dlock::{Guard, Locker};
use libtest_mimic::Failed;
use tokio::{runtime::Builder, time::timeout};

/// What a case ends with: anything that can be displayed is a reason to fail.
pub(crate) type Outcome<T = ()> = Result<T, Failed>;

/// What must happen happens within this; far less than the ttl of 120 s.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// How often a state is looked at that nothing tells of.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The trials of these cases on one server.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) fn trials(
            flavour: conformance_tests::servers::etcd::Flavour,
        ) -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                format!("{}::{}", flavour.name(), stringify!($case)),
                move || crate::kit::run($case(flavour)),
            )),*]
        }
    };
}
pub(crate) use cases;

pub(crate) fn run(case: impl Future<Output = Outcome>) -> Outcome {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(case);
    runtime.shutdown_background();
    outcome
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

/// The guard of a lock that must be free.
pub(crate) async fn take(locker: &Locker, name: &str) -> Outcome<Guard> {
    let guard = locker.try_acquire(name).await?;
    guard.ok_or_else(|| format!("{name} is taken").into())
}

/// The error that must come.
pub(crate) fn refused<T>(result: dlock::Result<T>) -> Outcome<dlock::Error> {
    let error = result.err().ok_or("it succeeded")?;
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 300, "{line}");
    Ok(error)
}

/// The places in the queue of a lock.
pub(crate) async fn places(node: &Node, name: &str) -> Outcome<Vec<Entry>> {
    Ok(node.keys(&format!("dlock/{name}/")).await?)
}

/// Waits until so many stand in the queue of `name`.
pub(crate) async fn until_places(node: &Node, name: &str, count: usize) -> Outcome {
    until(format!("{count} places"), async || {
        Ok(places(node, name).await?.len() == count)
    })
    .await
}

/// Waits until nothing is left in the server: no key and no lease (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    until("nothing is left", async || {
        Ok(node.keys("").await?.is_empty() && node.leases().await?.is_empty())
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
