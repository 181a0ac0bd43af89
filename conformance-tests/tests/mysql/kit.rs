//! What the cases work with: a server of their own, clients of it, and bounds.

use std::{fmt::Display, future::Future, time::Duration};

use conformance_tests::servers::mysql::{Flavour, Node, Options};
use dlock::{Guard, Locker};
use dlock_core::Clock;
use libtest_mimic::Failed;
use tokio::{
    runtime::Builder,
    time::{sleep, timeout},
};

/// What a case ends with: anything that can be displayed is a reason to fail.
pub(crate) type Outcome<T = ()> = Result<T, Failed>;

/// What must happen happens within this; far less than [`TTL_LONG`].
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// A ttl that no case lives to see the end of: what is free before it was not freed by time.
pub(crate) const TTL_LONG: Duration = Duration::from_secs(120);

/// No case takes longer: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(100);

/// How often a state is looked at that nothing tells of.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The trials of these cases on one server.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) fn trials(
            flavour: conformance_tests::servers::mysql::Flavour,
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
    let outcome = runtime.block_on(within(CASE_MAX, "its end", case));
    runtime.shutdown_background();
    outcome?
}

/// A server that grants: it does not in its first two seconds.
pub(crate) async fn start(flavour: Flavour) -> Outcome<Node> {
    let node = Node::start(flavour, &Options::default()).await?;
    until_granting(&node).await?;
    Ok(node)
}

/// Waits until the server grants.
pub(crate) async fn until_granting(node: &Node) -> Outcome {
    let locker = open(&node.url(), TTL_LONG).await?;
    until("it grants", async || {
        match locker.try_acquire("until granting").await {
            Ok(Some(guard)) => guard.release().await.map(|()| true).map_err(Failed::from),
            Ok(None) => Ok(false),
            Err(error) if error.kind() == dlock::ErrorKind::Unavailable => Ok(false),
            Err(error) => Err(error.into()),
        }
    })
    .await?;
    Ok(locker.shutdown(SOON).await?)
}

pub(crate) async fn open(url: &str, ttl: Duration) -> dlock::Result<Locker> {
    let mark = if url.contains('?') { '&' } else { '?' };
    dlock::connect(&*format!("{url}{mark}ttl={}s", ttl.as_secs())).await
}

pub(crate) async fn take(locker: &Locker, name: &str) -> Outcome<Guard> {
    Ok(soon("it is granted", locker.acquire(name).wait(SOON)).await??)
}

/// How many statements wait for a row.
pub(crate) async fn waiting(node: &Node) -> Outcome<usize> {
    // The question itself has the words, too.
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%FOR UPDATE%' \
               AND info NOT LIKE '%processlist%'";
    let rows = node.ask(sql).await?;
    let count = rows.first().and_then(|row| row.first());
    Ok(count.ok_or("no count")?.parse()?)
}

/// The sessions of the user of the locks.
pub(crate) async fn sessions(node: &Node) -> Outcome<Vec<String>> {
    let sql = "SELECT id FROM information_schema.processlist WHERE user = 'app'";
    Ok(node.ask(sql).await?.into_iter().flatten().collect())
}

/// Looks until it is so, at most [`SOON`].
pub(crate) async fn until(what: &str, mut look: impl AsyncFnMut() -> Outcome<bool>) -> Outcome {
    let clock = Clock::boottime();
    let end = clock.now().after(SOON);
    while !look().await? {
        if clock.now() > end {
            return Err(format!("not within {SOON:?}: {what}").into());
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

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
