//! One connection that hangs, or is slow, while new ones work (T16).

use std::time::Duration;

use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{Direction::ToClient, Fault, Proxy};

use crate::support::{
    Outcome, all, cases, connect, ends_first, soon, start, take, until_clean, warm_up,
};

cases![
    t16_a_connection_that_hangs_costs_no_lock,
    t16_a_connection_that_hangs_keeps_no_released_lock,
    t16_a_release_on_a_connection_that_hangs_is_confirmed,
    t16_a_connection_that_is_slow_is_not_abandoned,
];

async fn t16_a_connection_that_hangs_costs_no_lock(program: Program) -> Outcome {
    // A ttl and a time-out near or above it, in seconds.
    const SETTINGS: [(u64, u64); 3] = [(2, 2), (5, 2), (6, 30)];
    let node = start(&program, &[]).await?;
    let kept = SETTINGS.map(|(ttl, timeout)| keeps(&node, ttl, timeout));
    all(kept).await?;
    until_clean(&node).await
}

/// Whether a lock survives two connections that hang, one after the other.
async fn keeps(node: &Node, ttl: u64, timeout: u64) -> Outcome {
    let proxy = Proxy::start(node.address())?;
    let holder = connect(proxy.address(), &format!("timeout={timeout}s")).await?;
    let ttl = Duration::from_secs(ttl);
    let name = format!("{ttl:?} {timeout}");
    let held = holder.acquire(&name).ttl(ttl).await?;
    for hanging in 0..2 {
        let fresh = proxy.connection(hanging + 1);
        proxy.connection(hanging).await.set_both(Fault::Hold);
        soon("it connects again", fresh).await?;
        let lost = tokio::time::timeout(ttl, held.lost()).await;
        assert!(lost.is_err(), "{name}: {lost:?}, though new ones work");
        assert!(held.is_held(), "{name}");
        ends_first(&held, node).await?;
    }
    held.release().await?;
    Ok(())
}

async fn t16_a_connection_that_hangs_keeps_no_released_lock(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(proxy.address(), "timeout=60s").await?;
    warm_up(&holder).await?;
    let held = take(&holder, "a").await?;
    proxy.connection(0).await.set_both(Fault::Hold);
    // The first try, or one of the background's.
    let _ = soon("it is answered for", held.release()).await?;
    until_clean(&node).await
}

/// The first request takes as long as `timeout`.
async fn t16_a_release_on_a_connection_that_hangs_is_confirmed(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(proxy.address(), "").await?;
    warm_up(&holder).await?;
    let held = take(&holder, "a").await?;
    proxy.connection(0).await.set_both(Fault::Hold);
    soon("it is answered for", held.release()).await??;
    until_clean(&node).await
}

/// The slow connection answers before another one is there, which is not needed then.
async fn t16_a_connection_that_is_slow_is_not_abandoned(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(proxy.address(), "timeout=30s").await?;
    let ttl = Duration::from_secs(6);
    let held = holder.acquire("a").ttl(ttl).await?;
    // The server knows the script from then on.
    held.renew().await?;
    // Longer than a request is hedged after, and shorter than another connection takes.
    proxy.set(ToClient, Fault::Delay(ttl / 7));
    let lost = tokio::time::timeout(2 * ttl, held.lost()).await;
    assert!(lost.is_err(), "{lost:?}, though it answers");
    assert!(proxy.accepted() > 1, "it was never in a hurry");
    assert!(!proxy.connection(0).await.has_ended(), "it was left");
    held.release().await?;
    until_clean(&node).await
}
