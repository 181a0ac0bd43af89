//! Acquires that are dropped, at each point.

use std::time::Duration;

use dlock_servers::etcd::Flavour;
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{
    Outcome, cases, connect, drop_after_polls, soon, start, take, until, until_clean,
    until_queue_length,
};

cases![
    t33_a_dropped_acquire_leaves_no_lease,
    t33_a_dropped_acquire_that_waits_leaves_no_lease,
    t33_a_lease_whose_grant_is_not_answered_is_revoked,
    k12_a_lease_with_a_long_ttl_ends_soon_after_its_last_lock,
];

const POLLS_MAX: u32 = 40;

/// The time after which a waiter is in the queue.
const QUEUED: Duration = Duration::from_millis(300);

async fn t33_a_dropped_acquire_leaves_no_lease(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    for polls in 0..POLLS_MAX {
        let acquire = locker.acquire("a").no_renewal();
        if let Some(guard) = drop_after_polls(acquire, polls).await {
            guard?.release().await?;
        }
        let attempt = locker.try_acquire("a").no_renewal();
        if let Some(Ok(Some(guard))) = drop_after_polls(attempt, polls).await {
            guard.release().await?;
        }
    }
    until_clean(&node).await
}

async fn t33_a_dropped_acquire_that_waits_leaves_no_lease(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let guard = take(&holder, "a").await?;
    for polls in 0..POLLS_MAX {
        let acquire = waiter.acquire("a").no_renewal();
        let dropped = drop_after_polls(acquire, polls);
        // It may wait without being polled so often.
        let ended = tokio::time::timeout(QUEUED, dropped).await;
        assert!(matches!(ended, Ok(None) | Err(_)), "{ended:?}");
    }
    until_queue_length(&node, "a", 1).await?;
    guard.release().await?;
    until("only the shared lease is left", async || {
        Ok(node.leases().await?.len() <= 1)
    })
    .await?;
    holder.shutdown(Duration::from_secs(5)).await?;
    until_clean(&node).await
}

async fn t33_a_lease_whose_grant_is_not_answered_is_revoked(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "ttl=120s&timeout=300ms").await?;
    proxy.set(Direction::ToClient, Fault::Hold);
    let acquire = locker.acquire("a").no_renewal();
    let acquire = acquire.wait(Duration::from_secs(1));
    assert!(soon("the end", acquire).await?.is_err());
    proxy.set(Direction::ToClient, Fault::None);
    until_clean(&node).await
}

async fn k12_a_lease_with_a_long_ttl_ends_soon_after_its_last_lock(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=1h").await?;
    take(&locker, "a").await?.release().await?;
    until_clean(&node).await?;
    Ok(take(&locker, "a").await?.release().await?)
}
