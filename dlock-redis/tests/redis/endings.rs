//! Holds that end before their holder ends them (T4, T5).

use std::time::Duration;

use dlock::{ErrorKind, Guard, LostCause};
use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinSet;

use crate::support::{
    Outcome, SOON, cases, connect, locks, refused, soon, start, take, until, until_clean, value,
    warm_up,
};

cases![
    t04_a_release_after_the_expiry_spares_the_successor,
    t04_a_release_after_the_expiry_reports_the_loss,
    t05_a_renewal_after_the_expiry_makes_nothing,
    t05_a_renewal_of_a_stolen_lock_spares_the_thief,
    t05_a_renewal_of_another_type_reports_taken,
    t05_a_renewal_that_comes_after_the_release_makes_nothing,
    k02_a_grant_that_is_heard_of_too_late_is_none,
    k02_a_deadline_counts_from_before_the_request,
];

const SHORT: Duration = Duration::from_millis(300);

/// Ends the key as its ttl would, though the holder believes that it has a long one.
async fn expire(node: &Node, name: &str) -> Outcome {
    node.command(&["PEXPIRE", &format!("dlock:{name}"), "1"])
        .await?;
    until("the key has expired", async || {
        Ok(value(node, name).await?.is_none())
    })
    .await
}

fn assert_lost<T>(result: dlock::Result<T>, cause: LostCause) -> Outcome {
    let error = refused(result)?;
    assert_eq!(
        (error.kind(), error.lost_cause()),
        (ErrorKind::Lost, Some(cause)),
        "{error}"
    );
    Ok(())
}

async fn t04_a_release_after_the_expiry_spares_the_successor(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let other = connect(node.address(), "").await?;
    // The holder knows that it is over …
    let guard = locker.acquire("a").ttl(SHORT).no_renewal().await?;
    let successor = other.acquire("a").await?;
    assert!(successor.token() > guard.token());
    assert_lost(guard.release().await, LostCause::Expired)?;
    successor.renew().await?;
    successor.release().await?;
    // … or does not.
    let guard = take(&locker, "a").await?;
    expire(&node, "a").await?;
    let successor = take(&other, "a").await?;
    guard.release().await?;
    successor.renew().await?;
    locker.shutdown(SOON).await?;
    successor.renew().await?;
    successor.release().await?;
    until_clean(&node).await
}

async fn t04_a_release_after_the_expiry_reports_the_loss(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = locker.acquire("a").ttl(SHORT).no_renewal().await?;
    let cause = soon("it expires", guard.lost()).await?;
    assert_eq!(cause, LostCause::Expired);
    assert_lost(guard.release().await, LostCause::Expired)?;
    until_clean(&node).await
}

async fn t05_a_renewal_after_the_expiry_makes_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    expire(&node, "a").await?;
    assert_lost(guard.renew().await, LostCause::Removed)?;
    assert_eq!(value(&node, "a").await?, None);
    assert!(!guard.is_held());
    assert_eq!(soon("it is lost", guard.lost()).await?, LostCause::Removed);
    until_clean(&node).await
}

async fn t05_a_renewal_of_a_stolen_lock_spares_the_thief(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let other = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    expire(&node, "a").await?;
    let thief = other.acquire("a").ttl(Duration::from_secs(20)).await?;
    let before = left(&node).await?;
    assert_lost(guard.renew().await, LostCause::Taken)?;
    assert!(left(&node).await? <= before, "the thief's end was moved");
    locker.shutdown(SOON).await?;
    thief.renew().await?;
    thief.release().await?;
    until_clean(&node).await
}

async fn left(node: &Node) -> Outcome<i64> {
    Ok(node.command(&["PTTL", "dlock:a"]).await?.int()?)
}

async fn t05_a_renewal_of_another_type_reports_taken(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let (guard, also) = (take(&locker, "a").await?, take(&locker, "b").await?);
    node.command(&["DEL", "dlock:a"]).await?;
    node.command(&["LPUSH", "dlock:a", "x"]).await?;
    let (renewed, other) = tokio::join!(guard.renew(), also.renew());
    assert_lost(renewed, LostCause::Taken)?;
    other?;
    also.release().await?;
    locker.shutdown(SOON).await?;
    assert_eq!(locks(&node).await?, ["dlock:a"]);
    Ok(())
}

/// K4: a renewal that is on its way when the release is sent on another connection finds nothing.
async fn t05_a_renewal_that_comes_after_the_release_makes_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "timeout=200ms").await?;
    let guard = take(&locker, "a").await?;
    let line = proxy.connection(0).await;
    line.set(Direction::ToServer, Fault::Hold);
    // On another connection, too.
    guard.renew().await?;
    guard.release().await?;
    assert_eq!(value(&node, "a").await?, None);
    let passed = line.passed(Direction::ToServer);
    line.set(Direction::ToServer, Fault::None);
    line.until_passed(Direction::ToServer, passed + 1).await;
    line.until_ended().await;
    until_clean(&node).await
}

async fn k02_a_grant_that_is_heard_of_too_late_is_none(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "").await?;
    warm_up(&locker).await?;
    proxy.set(Direction::ToClient, Fault::Delay(SHORT + SHORT / 2));
    for answer in [
        locker.try_acquire("a").ttl(SHORT).await.map(drop),
        locker.acquire("a").ttl(SHORT).await.map(drop),
    ] {
        assert_eq!(refused(answer)?.kind(), ErrorKind::Unavailable);
    }
    until_clean(&node).await
}

async fn k02_a_deadline_counts_from_before_the_request(program: Program) -> Outcome {
    const LATE: Duration = Duration::from_millis(400);
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "").await?;
    warm_up(&locker).await?;
    let ttl = Duration::from_secs(10);
    let most = |guard: &Guard| {
        let left = guard.remaining();
        assert!(
            left < ttl - LATE,
            "{left:?} of {ttl:?} are left after {LATE:?}"
        );
    };
    proxy.set(Direction::ToClient, Fault::Delay(LATE));
    let guard = locker.acquire("a").ttl(ttl).await?;
    most(&guard);
    guard.renew().await?;
    most(&guard);
    guard.release().await?;
    // One goes alone, and the others in batches.
    let acquires = ["a", "b", "c", "d"].map(|name| locker.acquire(name).ttl(ttl).into_future());
    let acquires: JoinSet<_> = acquires.into_iter().collect();
    let guards: Vec<_> = acquires
        .join_all()
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    // All before the first release, which takes as long as the margin.
    guards.iter().for_each(most);
    for guard in guards {
        guard.release().await?;
    }
    until_clean(&node).await
}
