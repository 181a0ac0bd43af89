//! Behind etcd's own gRPC proxy, which gives watches ids of its own.
//!
//! The suite runs behind it as well, as the target `etcd-grpc-proxy`.

use std::time::Duration;

use dlock::LostCause;
use dlock_servers::etcd::{Flavour, GrpcProxy, Node};

use crate::support::{
    Outcome, cases, connect, queue_keys, soon, start, take, until, until_clean, within,
};

cases![
    k08_a_release_reports_no_loss_to_other_holders,
    k08_a_removal_is_reported_at_once,
    k06_a_waiter_is_woken_at_once,
    k06_many_waiters_are_woken_in_order,
];

/// As soon as the store reports it, on a busy machine; no client polls so early.
const AT_ONCE: Duration = Duration::from_secs(3);

async fn behind(flavour: Flavour) -> Outcome<(Node, GrpcProxy)> {
    let node = start(flavour).await?;
    let proxy = GrpcProxy::start(&flavour.find()?, node.address()).await?;
    Ok((node, proxy))
}

/// Waits until the member has so many watches: held locks are watched a moment after the grant.
async fn until_watched(node: &Node, count: u32) -> Outcome {
    until(format!("{count} watches"), async || {
        Ok(node.metric("etcd_debugging_mvcc_watcher_total").await? >= f64::from(count))
    })
    .await
}

async fn k08_a_release_reports_no_loss_to_other_holders(flavour: Flavour) -> Outcome {
    let (node, proxy) = behind(flavour).await?;
    for _ in 0..10 {
        let locker = connect(proxy.address(), "").await?;
        let innocent = take(&locker, "innocent").await?;
        let second = take(&locker, "second").await?;
        until_watched(&node, 2).await?;
        node.delete(&queue_keys(&node, "second").await?[0].key)
            .await?;
        let cause = within(AT_ONCE, "the loss", second.lost()).await?;
        assert_eq!(cause, LostCause::Removed);
        let third = take(&locker, "third").await?;
        until_watched(&node, 2).await?;
        third.release().await?;
        let reported = tokio::time::timeout(Duration::from_millis(300), innocent.lost()).await;
        assert!(
            reported.is_err(),
            "an innocent holder is notified: {reported:?}"
        );
        assert!(innocent.is_held());
        innocent.release().await?;
        locker.shutdown(Duration::from_secs(5)).await?;
    }
    until_clean(&node).await
}

async fn k08_a_removal_is_reported_at_once(flavour: Flavour) -> Outcome {
    let (node, proxy) = behind(flavour).await?;
    let locker = connect(proxy.address(), "").await?;
    // Others that come and go before it: then the ids differ.
    for at in 0..3 {
        let other = take(&locker, &format!("other-{at}")).await?;
        until_watched(&node, 1).await?;
        other.release().await?;
    }
    let victim = take(&locker, "victim").await?;
    until_watched(&node, 1).await?;
    node.delete(&queue_keys(&node, "victim").await?[0].key)
        .await?;
    let cause = within(AT_ONCE, "the loss", victim.lost()).await?;
    assert_eq!(cause, LostCause::Removed);
    Ok(())
}

async fn k06_a_waiter_is_woken_at_once(flavour: Flavour) -> Outcome {
    let (node, proxy) = behind(flavour).await?;
    let direct = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    for _ in 0..5 {
        let warm = take(&locker, "warm").await?;
        until_watched(&node, 1).await?;
        warm.release().await?;
        let held = take(&direct, "a").await?;
        let waiting = tokio::spawn(locker.acquire("a").into_future());
        // Watches of its own key and of the one before it, which its holder watches, too.
        until_watched(&node, 3).await?;
        held.release().await?;
        within(AT_ONCE, "its turn", waiting)
            .await???
            .release()
            .await?;
    }
    Ok(())
}

/// One locker with many watches at a time.
async fn k06_many_waiters_are_woken_in_order(flavour: Flavour) -> Outcome {
    let (node, proxy) = behind(flavour).await?;
    let direct = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    let names: Vec<String> = (0..30).map(|at| format!("many-{at}")).collect();
    let mut held = Vec::new();
    for name in &names {
        held.push(take(&direct, name).await?);
    }
    let waiting: Vec<_> = names
        .iter()
        .map(|name| tokio::spawn(locker.acquire(name).into_future()))
        .collect();
    until("all of them wait", async || {
        Ok(node.keys("dlock/many-").await?.len() == 2 * names.len())
    })
    .await?;
    for guard in held {
        guard.release().await?;
    }
    for waits in waiting {
        // They are requested one after another: the last one, thirty round trips later.
        soon("its turn", waits).await???.release().await?;
    }
    assert_eq!(node.keys("dlock/many-").await?, []);
    Ok(())
}
