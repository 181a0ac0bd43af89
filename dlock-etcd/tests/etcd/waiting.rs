//! Waiting: keys that are deleted, streams that break, history that is compacted.

use std::time::Duration;

use dlock_servers::etcd::Flavour;
use dlock_verify::proxy::{End, Proxy};

use crate::support::{
    Outcome, TwoWays, cases, connect, queue_keys, soon, start, take, until, until_clean,
    until_queue_length, within,
};

cases![
    t25_a_waiter_whose_lease_is_revoked_queues_again_and_blocks_no_other,
    t25_a_waiter_whose_key_is_deleted_queues_again,
    t29_a_waiter_is_woken_though_history_is_compacted,
    t29_a_waiter_is_woken_over_a_stream_that_breaks,
    t29_a_waiter_is_woken_by_a_release_before_its_watch,
    t29_a_loss_is_reported_over_a_stream_that_breaks,
    t30_a_waiter_outlives_a_way_that_falls_silent,
    k06_a_wait_ends_with_its_key,
];

/// The time after which a waiter is in the queue, on a slow disk too.
const QUEUED: Duration = Duration::from_secs(1);

/// A bound below a waiter's poll interval.
const NOTICE_MAX: Duration = Duration::from_secs(8);

async fn t25_a_waiter_whose_lease_is_revoked_queues_again_and_blocks_no_other(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let holder = connect(node.address(), "").await?;
    let guard = take(&holder, "a").await?;
    let held = node.leases().await?;
    let waiter = connect(node.address(), "").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(&node, "a", 2).await?;
    let first = queue_keys(&node, "a").await?[1].clone();
    assert!(!held.contains(&first.lease));
    node.revoke(first.lease).await?;
    until("a new key", async || {
        let queue_keys = queue_keys(&node, "a").await?;
        Ok(queue_keys.len() == 2 && queue_keys[1].create_revision > first.create_revision)
    })
    .await?;
    guard.release().await?;
    within(NOTICE_MAX, "its turn", waiting)
        .await???
        .release()
        .await?;
    Ok(())
}

async fn t25_a_waiter_whose_key_is_deleted_queues_again(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(&node, "a", 2).await?;
    node.delete(&queue_keys(&node, "a").await?[1].key).await?;
    until_queue_length(&node, "a", 2).await?;
    guard.release().await?;
    within(NOTICE_MAX, "its turn", waiting)
        .await???
        .release()
        .await?;
    Ok(())
}

async fn t29_a_waiter_is_woken_though_history_is_compacted(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(proxy.address(), "").await?,
    );
    for round in 0..5 {
        let guard = take(&holder, "a").await?;
        let waiting = tokio::spawn(waiter.acquire("a").into_future());
        until_queue_length(&node, "a", 2).await?;
        for change in 0..10 {
            node.put("other", &change.to_string()).await?;
            node.compact().await?;
        }
        // The watch begins again from a revision that is not there any more.
        if round % 2 == 1 {
            proxy.end(End::Reset);
        }
        guard.release().await?;
        node.put("other", "").await?;
        node.compact().await?;
        within(NOTICE_MAX, "its turn", waiting)
            .await???
            .release()
            .await?;
    }
    Ok(())
}

async fn t29_a_waiter_is_woken_over_a_stream_that_breaks(flavour: Flavour) -> Outcome {
    let two = TwoWays::new(flavour, "").await?;
    let holder = connect(two.node.address(), "").await?;
    for _ in 0..10 {
        let guard = take(&holder, "a").await?;
        let waiting = tokio::spawn(two.locker.acquire("a").into_future());
        until_queue_length(&two.node, "a", 2).await?;
        two.ways[0].end(End::Reset);
        two.ways[1].end(End::Reset);
        guard.release().await?;
        within(NOTICE_MAX, "its turn", waiting)
            .await???
            .release()
            .await?;
    }
    Ok(())
}

/// A waiter that enqueues just before the release has no watch yet. A missed event would cost the time
/// until the waiter reads by itself.
async fn t29_a_waiter_is_woken_by_a_release_before_its_watch(flavour: Flavour) -> Outcome {
    const TURNS: u32 = 100;
    let node = start(flavour).await?;
    let lockers = [
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    ];
    let turns = lockers.map(|locker| {
        tokio::spawn(async move {
            for _ in 0..TURNS {
                // Each by itself: how long all of them take is the disk's affair.
                let guard = within(NOTICE_MAX, "its turn", locker.acquire("a")).await??;
                guard.release().await?;
            }
            Outcome::Ok(())
        })
    });
    for turns in turns {
        turns.await??;
    }
    until_clean(&node).await
}

async fn t29_a_loss_is_reported_over_a_stream_that_breaks(flavour: Flavour) -> Outcome {
    let two = TwoWays::new(flavour, "").await?;
    let guard = take(&two.locker, "a").await?;
    until("its watch", async || {
        Ok(two.node.metric("etcd_debugging_mvcc_watcher_total").await? > 0.5)
    })
    .await?;
    let key = queue_keys(&two.node, "a").await?[0].key.clone();
    two.ways[0].end(End::Reset);
    two.ways[1].end(End::Reset);
    two.node.delete(&key).await?;
    within(NOTICE_MAX, "the loss", guard.lost()).await?;
    Ok(())
}

async fn t30_a_waiter_outlives_a_way_that_falls_silent(flavour: Flavour) -> Outcome {
    let two = TwoWays::new(flavour, "ttl=4s").await?;
    let holder = connect(two.node.address(), "").await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(two.locker.acquire("a").into_future());
    until_queue_length(&two.node, "a", 2).await?;
    let key = queue_keys(&two.node, "a").await?[1].clone();
    for connection in two.ways[0].connections() {
        connection.set_both(dlock_verify::proxy::Fault::Hold);
    }
    tokio::time::sleep(NOTICE_MAX).await;
    assert_eq!(queue_keys(&two.node, "a").await?[1], key, "its key stays");
    guard.release().await?;
    within(NOTICE_MAX / 2, "its turn", waiting)
        .await???
        .release()
        .await?;
    Ok(())
}

async fn k06_a_wait_ends_with_its_key(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let guard = take(&holder, "a").await?;
    for renews in [true, false] {
        let acquire = waiter.acquire("a").wait(QUEUED);
        let acquire = if renews {
            acquire
        } else {
            acquire.no_renewal()
        };
        let error = soon("the end", acquire).await?.err().ok_or("granted")?;
        assert_eq!(error.kind(), dlock::ErrorKind::Contended, "{error}");
        until_queue_length(&node, "a", 1).await?;
    }
    guard.release().await?;
    for locker in [holder, waiter] {
        locker.shutdown(NOTICE_MAX).await?;
    }
    until_clean(&node).await
}
