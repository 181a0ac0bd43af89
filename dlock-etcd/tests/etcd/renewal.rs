//! Leases: the granted ttl, and keep-alives under faults.

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_servers::etcd::{Flavour, Login};
use dlock_verify::proxy::{Direction, End, Fault};

use crate::support::{
    Outcome, TwoWays, cases, connect, queue_keys, soon, start, start_with, take, until,
    until_clean, within,
};

cases![
    t20_a_small_ttl_is_raised_and_the_deadline_counts_the_requested_one,
    t20_a_ttl_far_below_what_the_store_grants_is_renewed_in_time,
    t21_a_way_that_falls_silent_is_left_for_another_one,
    t21_a_way_that_is_reset_is_left_for_another_one,
    t21_a_member_that_restarts_keeps_the_locks,
    t22_a_revoked_lease_is_reported_at_once,
    t23_a_deleted_key_is_reported_at_once_to_its_holder_alone,
    t23_a_renewal_finds_that_the_key_is_gone,
    t31_a_member_that_sleeps_through_the_ttl_leaves_no_lock_behind,
    k02_a_grant_counts_from_the_keep_alive_that_proves_it,
    k02_a_renewal_counts_from_the_keep_alive_that_proves_it,
    k08_a_lost_lock_is_free_though_its_lease_lives_on,
];

/// The ttl of a lock that is kept alive: so short that a case can wait it out.
const TTL: &str = "ttl=4s";
const TWO_TTLS: Duration = Duration::from_secs(8);

async fn t20_a_small_ttl_is_raised_and_the_deadline_counts_the_requested_one(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=1s").await?;
    let guard = locker.acquire("a").no_renewal().await?;
    assert!(guard.remaining() < Duration::from_secs(1));
    let lease = queue_keys(&node, "a").await?[0].lease;
    let question = serde_json::json!({"ID": lease.to_string()});
    let answer = node.call("/v3/lease/timetolive", &question).await?;
    assert_eq!(answer["grantedTTL"], "2", "{answer}");
    let bound = Duration::from_secs(1);
    assert_eq!(
        within(bound, "the loss", guard.lost()).await?,
        LostCause::Expired
    );
    // Long before the store's own end: it is released after the loss (K8).
    drop(guard);
    until_clean(&node).await
}

async fn t20_a_ttl_far_below_what_the_store_grants_is_renewed_in_time(flavour: Flavour) -> Outcome {
    // As for members that are far apart: it grants 12 s at least.
    let far = ["--heartbeat-interval=800", "--election-timeout=8000"];
    let node = start_with(flavour, Login::Open, &far).await?;
    let locker = connect(node.address(), "ttl=1s").await?;
    let guard = take(&locker, "a").await?;
    let bound = Duration::from_secs(6);
    let lost = tokio::time::timeout(bound, guard.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    Ok(guard.release().await?)
}

async fn t21_a_way_that_falls_silent_is_left_for_another_one(flavour: Flavour) -> Outcome {
    let two = TwoWays::new(flavour, TTL).await?;
    let guard = take(&two.locker, "a").await?;
    two.ways[0].set(Direction::ToServer, Fault::Hold);
    two.ways[0].set(Direction::ToClient, Fault::Hold);
    tokio::time::sleep(TWO_TTLS).await;
    assert!(guard.is_held(), "{:?}", guard.lost().await);
    // Notifications of its own key arrive over the other connection, too.
    let key = queue_keys(&two.node, "a").await?[0].key.clone();
    two.node.delete(&key).await?;
    soon("the loss", guard.lost()).await?;
    Ok(())
}

async fn t21_a_way_that_is_reset_is_left_for_another_one(flavour: Flavour) -> Outcome {
    let two = TwoWays::new(flavour, TTL).await?;
    let guard = take(&two.locker, "a").await?;
    for _ in 0..16 {
        for way in &two.ways {
            way.end(End::Reset);
        }
        tokio::time::sleep(TWO_TTLS / 16).await;
    }
    assert!(guard.is_held(), "{:?}", guard.lost().await);
    Ok(guard.release().await?)
}

async fn t21_a_member_that_restarts_keeps_the_locks(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=8s").await?;
    let other = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    for _ in 0..3 {
        node.restart().await?;
        assert!(other.try_acquire("a").await?.is_none());
    }
    guard.renew().await?;
    assert!(guard.is_held());
    Ok(guard.release().await?)
}

async fn t22_a_revoked_lease_is_reported_at_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    let guards = [take(&locker, "a").await?, take(&locker, "b").await?];
    let leases = node.leases().await?;
    assert_eq!(leases.len(), 1, "one for all of them");
    // The watch begins when a lock has been held for a moment.
    node.revoke(leases[0]).await?;
    for guard in &guards {
        soon("the loss", guard.lost()).await?;
        assert!(!guard.is_held());
    }
    // And the next one is attached to a new lease.
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t23_a_deleted_key_is_reported_at_once_to_its_holder_alone(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    let (guard, survivor) = (take(&locker, "a").await?, take(&locker, "b").await?);
    let key = queue_keys(&node, "a").await?[0].key.clone();
    node.delete(&key).await?;
    assert_eq!(soon("the loss", guard.lost()).await?, LostCause::Removed);
    survivor.renew().await?;
    assert!(survivor.is_held());
    Ok(survivor.release().await?)
}

async fn t23_a_renewal_finds_that_the_key_is_gone(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    for _ in 0..10 {
        let guard = take(&locker, "a").await?;
        let key = queue_keys(&node, "a").await?[0].key.clone();
        node.delete(&key).await?;
        // The lease is well, and the watch may not have begun.
        let error = guard.renew().await.err().ok_or("it was renewed")?;
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
    Ok(())
}

async fn t31_a_member_that_sleeps_through_the_ttl_leaves_no_lock_behind(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "ttl=2s&timeout=500ms").await?;
    let other = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    let kept_busy = take(&locker, "b").await?;
    node.stop()?;
    within(Duration::from_secs(3), "the loss", guard.lost()).await?;
    within(Duration::from_secs(1), "the loss", kept_busy.lost()).await?;
    node.cont()?;
    // The key is there, and so may be the lease: neither is a proof, nor is it kept alive any more.
    let next = soon("the next one", other.acquire("a")).await??;
    assert!(next.token() > guard.token());
    assert!(!guard.is_held());
    next.release().await?;
    drop((guard, kept_busy));
    until("its leases have ended", async || {
        Ok(node.keys("dlock/b/").await?.is_empty())
    })
    .await
}

async fn k02_a_grant_counts_from_the_keep_alive_that_proves_it(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let ttl = Duration::from_secs(30);
    let locker = connect(node.address(), "ttl=30s").await?;
    let first = take(&locker, "a").await?;
    let passed = Duration::from_secs(2);
    tokio::time::sleep(passed).await;
    // On the lease of the first one, which was not kept alive since: that comes after 5 s.
    let second = take(&locker, "b").await?;
    let left = second.remaining();
    let renewed = node.metric("etcd_debugging_lease_renewed_total").await?;
    assert!(renewed < 0.5, "a keep-alive came too soon: {renewed}");
    assert!(left <= ttl - passed, "{left:?} are left of {ttl:?}");
    second.release().await?;
    Ok(first.release().await?)
}

async fn k02_a_renewal_counts_from_the_keep_alive_that_proves_it(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let ttl = Duration::from_secs(30);
    let locker = connect(node.address(), "ttl=30s").await?;
    let guard = take(&locker, "a").await?;
    let passed = Duration::from_secs(2);
    tokio::time::sleep(passed).await;
    guard.renew().await?;
    let left = guard.remaining();
    // The lease itself was granted before, and not kept alive since: that comes after 5 s.
    let renewed = node.metric("etcd_debugging_lease_renewed_total").await?;
    assert!(renewed < 0.5, "a keep-alive came too soon: {renewed}");
    assert!(left <= ttl - passed, "{left:?} are left of {ttl:?}");
    Ok(guard.release().await?)
}

async fn k08_a_lost_lock_is_free_though_its_lease_lives_on(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = dlock_verify::proxy::Proxy::start(node.address())?;
    let other = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "ttl=3s").await?;
    // Both on one lease of 3 s in the store, but the first one counts less.
    let short = locker
        .acquire("a")
        .ttl(Duration::from_millis(2_100))
        .await?;
    let lease = queue_keys(&node, "a").await?[0].lease;
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::Hold);
    }
    soon("the loss", short.lost()).await?;
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::None);
    }
    let long = soon("the next lock", locker.acquire("b")).await??;
    assert_eq!(queue_keys(&node, "b").await?[0].lease, lease);
    let next = within(Duration::from_secs(4), "the lost lock", other.acquire("a")).await??;
    assert!(long.is_held());
    next.release().await?;
    Ok(long.release().await?)
}
