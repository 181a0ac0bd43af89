//! What the cases work with: servers of their own, clients of them, and bounds.

use std::{
    fmt::Display,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use conformance_tests::servers::zk::{Flavour, Java, Node, Options};
use dlock::{Guard, Locker};
use libtest_mimic::Failed;
use tokio::{runtime::Builder, time::timeout};
use zookeeper_client::{Client, Error as ZkError};

/// What a case ends with: anything that can be displayed is a reason to fail.
pub(crate) type Outcome<T = ()> = Result<T, Failed>;

/// What must happen happens within this.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// What may go wrong once in a while is tried this often.
pub(crate) const RACES: u32 = 50;

/// A tenth of the stock tick.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Keys for servers with [`TICK`]: a session that no case lives to see the end of.
pub(crate) const LONG: &str = "tick=200ms&session=60s";

/// How often a state is looked at that nothing tells of.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The trials of these cases on one version.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) fn trials(
            flavour: conformance_tests::servers::zk::Flavour,
        ) -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                format!("{}::{}", flavour.name(), stringify!($case)),
                move || crate::kit::run(flavour, $case),
            )),*]
        }
    };
}
pub(crate) use cases;

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Java) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let java = flavour.find()?;
    let outcome = runtime.block_on(case(java));
    runtime.shutdown_background();
    outcome
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

/// A server that stands alone.
pub(crate) async fn start(java: &Java) -> Outcome<Node> {
    Ok(Node::start(java, &quick()).await?)
}

/// A client with these settings.
pub(crate) async fn connect(addresses: impl Display, keys: &str) -> dlock::Result<Locker> {
    dlock::connect(format!("zk://{addresses}?{keys}").as_str()).await
}

/// The driver alone.
pub(crate) async fn driver(addresses: impl Display) -> Outcome<Client> {
    Ok(Client::connect(&addresses.to_string()).await?)
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

/// The nodes in the directory of a lock.
pub(crate) async fn queue(client: &Client, name: &str) -> Outcome<Vec<String>> {
    match client.list_children(&format!("/dlock/{name}")).await {
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => Ok(children?),
    }
}

/// Waits until the queue of a lock has this length.
pub(crate) async fn until_queue(client: &Client, name: &str, length: usize) -> Outcome {
    until(format!("{length} in the queue of {name}"), async || {
        Ok(queue(client, name).await?.len() == length)
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
