//! Three members: leaders that stop or end, members without a leader.

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::etcd::{Cluster, Flavour, Options};

use crate::support::{
    Outcome, cases, connect_all, refused, soon, take, until_queue_length, within,
};

cases![
    t24_a_leader_that_stops_loses_no_lock,
    t24_a_leader_that_is_killed_loses_no_lock,
    t24_without_a_leader_it_says_so,
    t30_a_waiter_leaves_a_member_without_a_leader,
];

/// The bound of an election or two.
const KEYS: &str = "ttl=10s&timeout=1s";

async fn start(flavour: Flavour) -> Outcome<Cluster> {
    Ok(Cluster::start(&flavour.find()?, &Options::default()).await?)
}

async fn t24_a_leader_that_stops_loses_no_lock(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let (locker, other) = (
        connect_all(&cluster.addresses(), KEYS).await?,
        connect_all(&cluster.addresses(), KEYS).await?,
    );
    let guard = take(&locker, "a").await?;
    let leader = cluster.leader().await?;
    // Twice as long as it takes the others to elect another one.
    cluster.node(leader).stop()?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    cluster.node(leader).cont()?;
    guard.renew().await?;
    assert!(other.try_acquire("a").await?.is_none());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(guard.is_held());
    guard.release().await?;
    soon("the next one", other.acquire("a"))
        .await??
        .release()
        .await?;
    Ok(())
}

async fn t24_a_leader_that_is_killed_loses_no_lock(flavour: Flavour) -> Outcome {
    let mut cluster = start(flavour).await?;
    let addresses = cluster.addresses();
    let (locker, other) = (
        connect_all(&addresses, KEYS).await?,
        connect_all(&addresses, KEYS).await?,
    );
    let guard = take(&locker, "a").await?;
    let waiting = tokio::spawn(other.acquire("a").into_future());
    until_queue_length(cluster.node(0), "a", 2).await?;
    for _ in 0..2 {
        let leader = cluster.leader().await?;
        cluster.nodes()[leader].kill()?;
        cluster.leader().await?;
        soon("a renewal", async {
            while guard.renew().await.is_err() && guard.is_held() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await?;
        cluster.nodes()[leader].resume().await?;
    }
    assert!(guard.is_held() && !waiting.is_finished());
    guard.release().await?;
    let next = soon("its turn", waiting).await???;
    Ok(next.release().await?)
}

async fn t24_without_a_leader_it_says_so(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let locker = connect_all(&cluster.addresses()[..1], KEYS).await?;
    let guard = locker.acquire("a").ttl(Duration::from_secs(6)).await?;
    for member in [1, 2] {
        cluster.node(member).stop()?;
    }
    within(Duration::from_secs(7), "the loss", guard.lost()).await?;
    let error = refused(connect_all(&cluster.addresses()[..1], KEYS).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("knows no leader"), "{error}");
    for member in [1, 2] {
        cluster.node(member).cont()?;
    }
    soon("it works again", locker.acquire("a"))
        .await??
        .release()
        .await?;
    Ok(())
}

async fn t30_a_waiter_leaves_a_member_without_a_leader(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let addresses = cluster.addresses();
    let holder = connect_all(&addresses[1..], "ttl=30s&timeout=1s").await?;
    let waiter = connect_all(&addresses, "ttl=30s&timeout=1s").await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(cluster.node(0), "a", 2).await?;
    // The waiter's member sees no other; then the others are back, and it is gone.
    for member in [1, 2] {
        cluster.node(member).stop()?;
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    cluster.node(0).stop()?;
    for member in [1, 2] {
        cluster.node(member).cont()?;
    }
    soon("the release", async {
        while guard.renew().await.is_err() && guard.is_held() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await?;
    guard.release().await?;
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}
