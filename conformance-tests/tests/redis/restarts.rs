//! A server that comes back, with or without what it knew (T14).

use std::time::Duration;

use conformance_tests::servers::{
    Program,
    redis::{Node, Persistence},
};
use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;

use crate::kit::{
    Outcome, all, cases, connect, open, refused, soon, start, start_keeping, take, until_clean,
    warm_up, within,
};

cases![
    t14_a_server_that_forgot_grants_nothing_before_the_guard_is_over,
    t14_the_guard_is_as_long_as_the_ttl,
    t14_the_guard_outlasts_every_hold_of_before,
    t14_a_server_that_may_have_forgotten_is_guarded_too,
    t14_a_server_that_forgets_nothing_grants_at_once,
    t14_a_new_server_is_guarded_unless_told_otherwise,
];

/// A server that has been up for longer than `guard` seconds.
async fn grown_up(program: &Program, persistence: Persistence, guard: u64) -> Outcome<Node> {
    let node = start_keeping(program, persistence, &[]).await?;
    crate::kit::until("the guard is over", async || {
        Ok(node.info("uptime_in_seconds").await?.parse::<u64>()? > guard)
    })
    .await?;
    Ok(node)
}

async fn t14_a_server_that_forgot_grants_nothing_before_the_guard_is_over(
    program: Program,
) -> Outcome {
    let mut node = grown_up(&program, Persistence::None, 2).await?;
    let locker = open(node.address(), "restart_guard=2s&ttl=2s").await?;
    let held = take(&locker, "a").await?;
    node.restart().await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard"), "{error}");
    // The holder is told by its next renewal that the server has forgotten it.
    assert_eq!(soon("it is lost", held.lost()).await?, LostCause::Removed);
    let error = refused(locker.acquire("a").wait(Duration::from_millis(200)).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard"), "{error}");
    // A wait outlasts the guard.
    soon("the guard is over", locker.acquire("a"))
        .await??
        .release()
        .await?;
    until_clean(&node).await
}

async fn t14_the_guard_is_as_long_as_the_ttl(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let error = refused(
        open(node.address(), "ttl=120s")
            .await?
            .try_acquire("a")
            .await,
    )?;
    let line = error.to_string();
    let left = line
        .split_once("none for ")
        .and_then(|(_, rest)| rest.split_once(" s more"));
    let (left, _) = left.ok_or_else(|| line.clone())?;
    assert!(left.parse::<u32>()? > 60, "{line}");
    Ok(())
}

/// The holder hears of nothing and goes on to its deadline; nobody else is granted before.
async fn t14_the_guard_outlasts_every_hold_of_before(program: Program) -> Outcome {
    // The server counts its uptime in whole seconds: begin in each part of one.
    let parts = (0..6).map(|part| Duration::from_millis(part * 170));
    all(parts.map(|late| outlasts(&program, late))).await
}

async fn outlasts(program: &Program, late: Duration) -> Outcome {
    let clock = Clock::boottime();
    let mut node = grown_up(program, Persistence::None, 2).await?;
    let locker = open(node.address(), "restart_guard=2s&ttl=2s").await?;
    let other = open(node.address(), "restart_guard=2s&ttl=2s").await?;
    tokio::time::sleep(late).await;
    let held = locker.acquire("a").no_renewal().await?;
    let deadline = clock.now().after(held.remaining());
    node.restart().await?;
    let guard = soon("the guard is over", other.acquire("a")).await??;
    let early = deadline.since(clock.now());
    assert!(early.is_zero(), "granted {early:?} before the holder's end");
    assert!(guard.token() > held.token());
    Ok(guard.release().await?)
}

async fn t14_a_server_that_may_have_forgotten_is_guarded_too(program: Program) -> Outcome {
    let forgetful = [Persistence::Rdb, Persistence::AofEverySecond];
    all(forgetful.map(|persistence| is_guarded(&program, persistence))).await
}

async fn is_guarded(program: &Program, persistence: Persistence) -> Outcome {
    let mut node = grown_up(program, persistence, 2).await?;
    let locker = open(node.address(), "restart_guard=2s&ttl=2s").await?;
    warm_up(&locker).await?;
    node.restart().await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(
        error.kind(),
        ErrorKind::Unavailable,
        "{persistence:?}: {error}"
    );
    soon("the guard is over", locker.acquire("a"))
        .await??
        .release()
        .await?;
    Ok(())
}

async fn t14_a_server_that_forgets_nothing_grants_at_once(program: Program) -> Outcome {
    let mut node = start_keeping(&program, Persistence::AofAlways, &[]).await?;
    let locker = open(node.address(), "ttl=20s").await?;
    let other = open(node.address(), "ttl=20s").await?;
    let held = take(&locker, "a").await?;
    for _ in 0..3 {
        node.restart().await?;
        within(Duration::from_secs(5), "at once", warm_up(&other)).await??;
        assert!(other.try_acquire("a").await?.is_none(), "it is still held");
        assert!(held.is_held());
        held.renew().await?;
    }
    held.release().await?;
    let next = take(&other, "a").await?;
    next.release().await?;
    until_clean(&node).await
}

async fn t14_a_new_server_is_guarded_unless_told_otherwise(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let guarded = open(node.address(), "").await?;
    let error = refused(guarded.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    warm_up(&connect(node.address(), "").await?).await
}
