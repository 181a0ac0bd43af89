//! The number of requests to the server.

use std::time::Duration;

use dlock::Locker;
use dlock_servers::etcd::Flavour;

use crate::support::{
    Outcome, cases, connect, queue_keys, soon, start, take, until, until_queue_length,
};

cases![
    t28_a_release_wakes_the_next_one_of_a_hundred,
    t28_a_hand_over_to_the_second_one_reads_nothing,
    k06_a_try_at_what_is_taken_writes_nothing,
    k13_renewals_of_a_thousand_locks_are_one_keep_alive,
    k12_an_unused_lease_ends,
];

const WAITERS: usize = 100;

async fn t28_a_release_wakes_the_next_one_of_a_hundred(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut lockers: Vec<Locker> = Vec::new();
    for _ in 0..WAITERS {
        lockers.push(connect(node.address(), "").await?);
    }
    let holder = connect(node.address(), "").await?;
    let guard = take(&holder, "a").await?;
    let mut waiting = Vec::new();
    for (at, locker) in lockers.iter().enumerate() {
        waiting.push(tokio::spawn(locker.acquire("a").into_future()));
        until_queue_length(&node, "a", at + 2).await?;
    }
    // Each watches its own key and the one before it; the first of them both by one watch.
    let watchers = f64::from(u32::try_from(WAITERS * 2 - 1)?);
    until("all of them watch", async || {
        Ok(node.metric("etcd_debugging_mvcc_watcher_total").await? >= watchers)
    })
    .await?;
    let before = node.metric("etcd_debugging_mvcc_events_total").await?;
    guard.release().await?;
    for next in waiting {
        soon("its turn", next).await???.release().await?;
    }
    let events = node.metric("etcd_debugging_mvcc_events_total").await? - before;
    // The next waiter, and at most the releasing one: its own watch ends at the same time.
    let most = f64::from(u32::try_from(WAITERS * 2 + 2)?);
    assert!(events <= most, "{events} events of {WAITERS} releases");
    Ok(())
}

async fn t28_a_hand_over_to_the_second_one_reads_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let lockers = [
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    ];
    let handled = async |method: &str| {
        let label = format!("grpc_method=\"{method}\"");
        node.metric_sum_of("grpc_server_handled_total", &label)
            .await
    };
    for (holder, waiter) in [(0, 1), (1, 0)] {
        let guard = take(&lockers[holder], "a").await?;
        let waiting = tokio::spawn(lockers[waiter].acquire("a").into_future());
        until_queue_length(&node, "a", 2).await?;
        // The holder's one, and one of both keys.
        until("both watch", async || {
            Ok(node.metric("etcd_debugging_mvcc_watcher_total").await? > 1.5)
        })
        .await?;
        let before = (handled("Txn").await?, handled("Range").await?);
        guard.release().await?;
        let next = soon("its turn", waiting).await???;
        let after = (handled("Txn").await?, handled("Range").await?);
        assert_eq!(before, after);
        next.release().await?;
    }
    Ok(())
}

async fn k06_a_try_at_what_is_taken_writes_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, other) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let guard = take(&holder, "a").await?;
    let (revision, leases) = (node.revision().await?, node.leases().await?);
    for _ in 0..10 {
        assert!(other.try_acquire("a").await?.is_none());
        assert!(other.try_acquire("a").no_renewal().await?.is_none());
    }
    assert_eq!(node.revision().await?, revision);
    assert_eq!(node.leases().await?, leases, "not even a lease");
    // Nor when there is one.
    take(&other, "b").await?.release().await?;
    let revision = node.revision().await?;
    assert!(other.try_acquire("a").await?.is_none());
    assert_eq!(node.revision().await?, revision);
    Ok(guard.release().await?)
}

async fn k13_renewals_of_a_thousand_locks_are_one_keep_alive(flavour: Flavour) -> Outcome {
    const LOCKS: usize = 1_000;
    let node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=9s").await?;
    let mut guards = Vec::new();
    for at in 0..LOCKS {
        guards.push(take(&locker, &format!("lock-{at}")).await?);
    }
    assert_eq!(node.leases().await?.len(), 1);
    let renewed = async || node.metric("etcd_debugging_lease_renewed_total").await;
    let before = renewed().await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    let keep_alives = renewed().await? - before;
    // Every sixth of the ttl, and a few that were requested sooner.
    assert!((4.0..=24.0).contains(&keep_alives), "{keep_alives}");
    assert!(guards.iter().all(dlock::Guard::is_held));
    locker.shutdown(Duration::from_secs(10)).await?;
    assert_eq!(queue_keys(&node, "lock-0").await?, []);
    Ok(())
}

async fn k12_an_unused_lease_ends(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=12s").await?;
    take(&locker, "a").await?.release().await?;
    assert_eq!(node.leases().await?.len(), 1, "it stays for the next one");
    until("it has ended", async || Ok(node.leases().await?.is_empty())).await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}
