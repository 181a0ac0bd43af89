//! A server that comes back, with or without what it knew (T14).

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::{Program, redis::Persistence};

use crate::support::{
    Outcome, acquaint, all, cases, connect, open, refused, soon, start, start_keeping, take,
    until_clean, warm_up, within,
};

cases![
    t14_a_server_that_forgot_grants_nothing_before_the_guard_is_over,
    t14_the_guard_is_as_long_as_the_ttl,
    t14_the_guard_outlasts_every_hold_of_before,
    t14_a_restart_is_guarded_with_any_persistence,
    t14_data_that_outlives_everything_needs_no_guard,
    t14_a_new_server_is_guarded_unless_set_otherwise,
    t14_a_wait_outlasts_the_guard_by_default,
    k11_a_ttl_beyond_the_guard_is_refused_before_the_request,
];

/// Short enough for a test to wait for.
const SHORT: &str = "restart_guard=2s&ttl=2s";

async fn t14_a_server_that_forgot_grants_nothing_before_the_guard_is_over(
    program: Program,
) -> Outcome {
    let mut node = start(&program, &[]).await?;
    acquaint(&node).await?;
    let locker = open(node.address(), SHORT).await?;
    let held = take(&locker, "a").await?;
    node.restart().await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard"), "{error}");
    // The next renewal reports to the holder that the server has lost the lock.
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

/// The holder gets no notice and goes on to its deadline; no other client is granted before.
async fn t14_the_guard_outlasts_every_hold_of_before(program: Program) -> Outcome {
    // The server counts its uptime in whole seconds: begin in each part of one.
    let parts = (0..6).map(|part| Duration::from_millis(part * 170));
    all(parts.map(|late| outlasts(&program, late))).await
}

async fn outlasts(program: &Program, late: Duration) -> Outcome {
    let clock = Clock::boottime();
    let mut node = start(program, &[]).await?;
    acquaint(&node).await?;
    let locker = open(node.address(), SHORT).await?;
    let other = open(node.address(), SHORT).await?;
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

/// Acknowledged data may still be missing: a disk that was wiped, or a replica instead.
async fn t14_a_restart_is_guarded_with_any_persistence(program: Program) -> Outcome {
    let kinds = [
        Persistence::Rdb,
        Persistence::AofEverySecond,
        Persistence::AofAlways,
    ];
    all(kinds.map(|persistence| is_guarded(&program, persistence))).await
}

async fn is_guarded(program: &Program, persistence: Persistence) -> Outcome {
    let mut node = start_keeping(program, persistence, &[]).await?;
    acquaint(&node).await?;
    let locker = open(node.address(), SHORT).await?;
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

async fn t14_data_that_outlives_everything_needs_no_guard(program: Program) -> Outcome {
    let mut node = start_keeping(&program, Persistence::AofAlways, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let other = connect(node.address(), "").await?;
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

async fn t14_a_new_server_is_guarded_unless_set_otherwise(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let guarded = open(node.address(), "").await?;
    let error = refused(guarded.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard=0s"), "{error}");
    let wait = guarded.acquire("a").wait(Duration::from_millis(900));
    let error = refused(wait.await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard=0s"), "{error}");
    warm_up(&connect(node.address(), "").await?).await
}

async fn t14_a_wait_outlasts_the_guard_by_default(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let clock = Clock::boottime();
    let begun = clock.now();
    let guard = open(node.address(), SHORT).await?.acquire("a").await?;
    let waited = clock.now().since(begun);
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
    Ok(guard.release().await?)
}

async fn k11_a_ttl_beyond_the_guard_is_refused_before_the_request(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = open(node.address(), "").await?;
    let before = crate::support::calls(&node, "eval").await?;
    let longer = locker.acquire("a").ttl(Duration::from_secs(300));
    let error = refused(longer.await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("restart_guard=30s"), "{error}");
    assert_eq!(crate::support::calls(&node, "eval").await?, before);
    // Of a URL it is refused before any request: there is no server.
    let unused = "127.0.0.1:1".parse()?;
    let error = refused(open(unused, "ttl=60s&restart_guard=30s").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("restart_guard=30s"), "{error}");
    Ok(())
}
