//! A server that is short of memory (T12, T17).

use std::time::Duration;

use dlock::{Effect, ErrorKind, LostCause};
use dlock_servers::{Program, redis::Node};

use crate::support::{
    Outcome, WOKEN, calls, cases, connect, refused, soon, start, take, until, until_clean,
    until_listeners, value, warm_up, within,
};

cases![
    t12_an_evicting_server_is_refused,
    t12_a_server_without_a_limit_is_not,
    t12_an_evicted_lock_is_lost_at_the_next_renewal,
    t17_out_of_memory_is_definite_and_spares_holders,
    t17_a_waiter_that_cannot_request_a_notification_polls,
];

async fn t12_an_evicting_server_is_refused(program: Program) -> Outcome {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let policy = format!("maxmemory-policy {policy}");
        let node = start(&program, &["maxmemory 100mb", &policy]).await?;
        let error = refused(connect(node.address(), "").await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.to_string().contains("may_evict=true"), "{error}");
        warm_up(&connect(node.address(), "may_evict=true").await?).await?;
    }
    Ok(())
}

async fn t12_a_server_without_a_limit_is_not(program: Program) -> Outcome {
    for lines in [
        ["maxmemory 0", "maxmemory-policy allkeys-lru"],
        ["maxmemory 100mb", "maxmemory-policy noeviction"],
    ] {
        let node = start(&program, &lines).await?;
        warm_up(&connect(node.address(), "").await?).await?;
    }
    Ok(())
}

/// Writes until `done`, or until the server has had many times its memory.
async fn flood(node: &Node, done: impl AsyncFn() -> Outcome<bool>) -> Outcome {
    let fill = "for i = 1, 200 do redis.pcall('SET', 'fill:' .. ARGV[1] .. ':' .. i, \
                string.rep('x', 1000)) end";
    for round in 0..1_000 {
        if done().await? {
            return Ok(());
        }
        node.command(&["EVAL", fill, "0", &round.to_string()])
            .await?;
    }
    Err("200 MB did not do it".into())
}

async fn t12_an_evicted_lock_is_lost_at_the_next_renewal(program: Program) -> Outcome {
    let lines = ["maxmemory 6mb", "maxmemory-policy allkeys-random"];
    let node = start(&program, &lines).await?;
    let locker = connect(node.address(), "may_evict=true").await?;
    let first = take(&locker, "a").await?;
    let evicted = async || Ok(value(&node, "a").await?.is_none());
    flood(&node, evicted).await?;
    assert_eq!(refused(first.renew().await)?.kind(), ErrorKind::Lost);
    assert_eq!(soon("it is lost", first.lost()).await?, LostCause::Removed);
    // Renewals by themselves find it too.
    let second = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    assert!(
        second.token() > first.token(),
        "also if the counter was evicted"
    );
    flood(&node, evicted).await?;
    let lost = soon("a renewal finds it gone", second.lost()).await?;
    assert_eq!(lost, LostCause::Removed);
    Ok(())
}

async fn t17_out_of_memory_is_definite_and_spares_holders(program: Program) -> Outcome {
    let node = start(&program, &["maxmemory-policy noeviction"]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    // Less than an empty server needs.
    node.command(&["CONFIG", "SET", "maxmemory", "100kb"])
        .await?;
    let error = refused(locker.try_acquire("b").await)?;
    assert_eq!(
        (error.kind(), error.effect()),
        (ErrorKind::Unavailable, Effect::None)
    );
    assert!(error.to_string().contains("maxmemory"), "{error}");
    assert_eq!(value(&node, "b").await?, None);
    assert!(
        locker.try_acquire("a").await?.is_none(),
        "what is taken is taken"
    );
    let waiter = locker.acquire("b").wait(Duration::from_millis(300));
    assert_eq!(refused(waiter.await)?.kind(), ErrorKind::Unavailable);
    // A holder lives on past its ttl, and can release.
    let lost = tokio::time::timeout(Duration::from_secs(4), guard.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    guard.release().await?;
    let waiter = tokio::spawn(locker.acquire("b").into_future());
    node.command(&["CONFIG", "SET", "maxmemory", "0"]).await?;
    soon("it grants again", waiter).await???.release().await?;
    until_clean(&node).await
}

/// The waiter's mark on the lock, which requests a notification from the holder, needs memory.
async fn t17_a_waiter_that_cannot_request_a_notification_polls(program: Program) -> Outcome {
    let node = start(&program, &["maxmemory-policy noeviction"]).await?;
    let holder = connect(node.address(), "").await?;
    let other = connect(node.address(), "").await?;
    let held = take(&holder, "a").await?;
    node.command(&["CONFIG", "SET", "maxmemory", "100kb"])
        .await?;
    let before = calls(&node, "evalsha").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    until("it has tried again", async || {
        Ok(calls(&node, "evalsha").await? >= before + 2)
    })
    .await?;
    let marked = value(&node, "a").await?.ok_or("it is free")?;
    assert!(!marked.ends_with('\n'), "it had memory for a mark");
    node.command(&["CONFIG", "SET", "maxmemory", "0"]).await?;
    held.release().await?;
    let guard = within(WOKEN, "the waiter polls", waiter).await???;
    guard.release().await?;
    until_clean(&node).await
}
