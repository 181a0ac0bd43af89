//! A member that is cut off from the others, both ways, while its clients still reach it.

use std::{sync::Arc, time::Duration};

use dlock::{ErrorKind, Guard};
use dlock_servers::etcd::{Cluster, Flavour, Options};
use dlock_verify::proxy::Fault;

use crate::support::{
    Outcome, cases, connect, connect_all, soon, take, until, until_queue_length, within,
};

cases![
    t30_a_leader_that_is_cut_off_from_the_others,
    t30_a_follower_that_is_cut_off_from_the_others,
];

/// An election or two fit in.
const KEYS: &str = "ttl=10s&timeout=1s";
const TTL: Duration = Duration::from_secs(10);

/// Of what survives, however busy the machine: 3.4 elects again also when the member comes back.
const LONG: &str = "ttl=20s&timeout=1s";

/// A new leader restarts all leases; and its election.
const FREE: Duration = Duration::from_secs(25);

/// No wait ends before what the case waits for.
const WAIT: Duration = Duration::from_secs(120);

async fn t30_a_leader_that_is_cut_off_from_the_others(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let leader = cluster.leader().await?;
    cut_off(&cluster, leader).await
}

async fn t30_a_follower_that_is_cut_off_from_the_others(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let follower = (cluster.leader().await? + 1) % Cluster::SIZE;
    cut_off(&cluster, follower).await
}

async fn start(flavour: Flavour) -> Outcome<Cluster> {
    Ok(Cluster::start(&flavour.find()?, &Options::default()).await?)
}

/// A client of that member alone loses its lock in time; all others go on.
async fn cut_off(cluster: &Cluster, member: usize) -> Outcome {
    let mut addresses = cluster.addresses();
    addresses.rotate_left(member);
    let there = connect(addresses[0], KEYS).await?;
    let both = connect_all(&addresses, LONG).await?;
    let here = connect_all(&addresses[1..], KEYS).await?;
    let lost = Arc::new(take(&there, "lost").await?);
    let survivor = take(&both, "survivor").await?;
    let released = take(&here, "released").await?;
    let (held, acquire) = (lost.clone(), here.acquire("lost").wait(WAIT));
    let next = tokio::spawn(async move { (acquire.await, held.is_held()) });
    let moved = tokio::spawn(both.acquire("released").wait(WAIT).into_future());
    let stuck = tokio::spawn(there.acquire("released").wait(WAIT).into_future());
    until_queue_length(cluster.node(member), "lost", 2).await?;
    until_queue_length(cluster.node(member), "released", 3).await?;
    cluster.set(member, Fault::Hold);
    until("it knows no leader", async || {
        Ok(cluster.node(member).leads().await.is_err())
    })
    .await?;
    within(2 * TTL, "the loss", lost.lost()).await?;
    let (next, was_held) = within(FREE, "the next one", next).await??;
    let next = next?;
    assert!(!was_held, "two have it");
    assert!(next.token() > lost.token());
    assert!(survivor.is_held(), "{:?}", survivor.lost().await);
    soon("a renewal", async {
        while survivor.renew().await.is_err() && survivor.is_held() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await?;
    assert!(survivor.is_held(), "{:?}", survivor.lost().await);
    release(released).await;
    // A waiter that reaches another member is granted regardless of the waiters before it.
    let moved = within(FREE, "its turn", moved).await???;
    release(moved).await;
    release(next).await;
    cluster.set(member, Fault::None);
    release(soon("who was stuck", stuck).await???).await;
    release(soon("the lost lock", there.acquire("lost")).await??).await;
    assert!(survivor.is_held(), "{:?}", survivor.lost().await);
    release(survivor).await;
    Ok(())
}

/// While members elect, a release may not be confirmed; then it goes on in the background.
async fn release(guard: Guard) {
    if let Err(error) = guard.release().await {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
}
