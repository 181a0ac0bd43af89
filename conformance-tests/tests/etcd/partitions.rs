//! A member that is cut off from the others, both ways, while its clients still reach it (T30).

use std::{sync::Arc, time::Duration};

use conformance_tests::{
    proxy::Fault,
    servers::etcd::{Cluster, Flavour, Options},
};

use crate::kit::{Outcome, cases, connect, connect_all, soon, take, until, until_places, within};

cases![
    t30_a_leader_that_is_cut_off_from_the_others,
    t30_a_follower_that_is_cut_off_from_the_others,
];

/// Several elections fit in, also of busy members.
const KEYS: &str = "ttl=10s&timeout=1s";
const TTL: Duration = Duration::from_secs(10);

/// A new leader starts all leases anew; and its election.
const FREE: Duration = Duration::from_secs(25);

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

/// Who can only ask that member loses its lock in time; all others go on.
async fn cut_off(cluster: &Cluster, member: usize) -> Outcome {
    let mut addresses = cluster.addresses();
    addresses.rotate_left(member);
    let there = connect(addresses[0], KEYS).await?;
    let both = connect_all(&addresses, KEYS).await?;
    let here = connect_all(&addresses[1..], KEYS).await?;
    let lost = Arc::new(take(&there, "lost").await?);
    let kept = take(&both, "kept").await?;
    let released = take(&here, "released").await?;
    let (held, acquire) = (lost.clone(), here.acquire("lost").wait(2 * TTL + FREE));
    let next = tokio::spawn(async move { (acquire.await, held.is_held()) });
    let moved = tokio::spawn(both.acquire("released").into_future());
    let stuck = tokio::spawn(there.acquire("released").into_future());
    until_places(cluster.node(member), "lost", 2).await?;
    until_places(cluster.node(member), "released", 3).await?;
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
    assert!(kept.is_held(), "{:?}", kept.lost().await);
    kept.renew().await?;
    released.release().await?;
    // Who can ask another member has his turn, whoever is before him in the queue.
    let moved = within(FREE, "its turn", moved).await???;
    moved.release().await?;
    next.release().await?;
    cluster.set(member, Fault::None);
    soon("who was stuck", stuck).await???.release().await?;
    soon("the lost lock", there.acquire("lost"))
        .await??
        .release()
        .await?;
    assert!(kept.is_held());
    Ok(kept.release().await?)
}
