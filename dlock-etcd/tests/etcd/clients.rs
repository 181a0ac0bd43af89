//! The real Go client's `concurrency.Mutex` on the same locks, in both directions: `docs/mixed-fleets.md` is made from
//! these. The cases with `etcdctl` are in `foreign.rs`.

use dlock::ErrorKind;
use dlock_servers::{clients::Client, etcd::Node};
use dlock_verify::support::if_client_available;
use libtest_mimic::Trial;

use crate::{
    foreign_client::{Foreign, LONG, TTL},
    support::{Flavour, Outcome, cases, connect, refused, soon, start, take, until},
};

cases![
    concurrency_waits_for_dlock,
    dlock_waits_for_concurrency,
    names_with_slashes_are_refused,
    names_below_a_name_are_in_its_queue,
];

pub(crate) fn trials_with_clients(flavour: Flavour) -> Vec<Trial> {
    let client = CONCURRENCY.client;
    if_client_available(client.name(), client.find(), trials(flavour))
}

const CONCURRENCY: Foreign = Foreign {
    client: Client::Concurrency,
    settings: "prefix=",
};

const EMPTY: &str = CONCURRENCY.settings;

async fn until_in_queue(node: &Node, count: usize) -> Outcome {
    until(format!("{count} in the queue"), async || {
        Ok(node.keys("job/").await?.len() == count)
    })
    .await
}

async fn concurrency_waits_for_dlock(flavour: Flavour) -> Outcome {
    let queued = async |node: &Node| until_in_queue(node, 2).await;
    CONCURRENCY.waits_for_dlock(flavour, queued).await
}

async fn dlock_waits_for_concurrency(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), EMPTY).await?;
    let mut peer = CONCURRENCY.start(&node, LONG).await?;
    peer.request("acquire job", "acquired").await?;
    assert!(locker.try_acquire("job").await?.is_none());
    let waiter = tokio::spawn(locker.acquire("job").into_future());
    until_in_queue(&node, 2).await?;
    peer.request("release job", "released").await?;
    let guard = soon("its turn", waiter).await???;
    peer.request("try job", "taken").await?;
    guard.release().await?;
    // And for one that dies.
    let mut mortal = CONCURRENCY.start(&node, TTL).await?;
    mortal.request("acquire job", "acquired").await?;
    let waiter = tokio::spawn(locker.acquire("job").into_future());
    until_in_queue(&node, 2).await?;
    mortal.kill().await?;
    Ok(soon("its turn", waiter).await???.release().await?)
}

/// dlock escapes slashes and percent signs, and other clients do not: such a name would be two locks.
async fn names_with_slashes_are_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), EMPTY).await?;
    let before = node.keys("").await?;
    for name in ["seat/14C", "50%"] {
        for error in [
            refused(locker.acquire(name).await)?,
            refused(locker.try_acquire(name).await)?,
            refused(locker.inspect(name).await)?,
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains("the Go client"), "{error}");
        }
    }
    assert_eq!(node.keys("").await?, before, "nothing was written");
    // A prefix of dlock's own has all names.
    let own = connect(node.address(), "prefix=app/").await?;
    Ok(take(&own, "seat/14C").await?.release().await?)
}

/// The Go client's queue of a name has the keys of all names below it, and dlock's has, too.
async fn names_below_a_name_are_in_its_queue(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), EMPTY).await?;
    let mut peer = CONCURRENCY.start(&node, LONG).await?;
    peer.request("acquire job/part", "acquired").await?;
    peer.request("try job", "taken").await?;
    assert!(locker.try_acquire("job").await?.is_none());
    peer.request("release job/part", "released").await?;
    Ok(take(&locker, "job").await?.release().await?)
}
