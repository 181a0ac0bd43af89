//! Servers that must not grant: replicas (T10), also former primaries (T9).

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_servers::{Program, redis::Node};

use crate::support::{
    Outcome, cases, connect, follow, locks, open, refused, soon, start, start_pair, take, until,
    until_clean,
};

cases![
    t10_the_address_of_a_replica_is_refused,
    t09_a_primary_that_becomes_a_replica_grants_nothing,
    t09_a_holder_outlives_a_short_demotion,
    t09_a_release_during_a_demotion_is_made_up_for,
    t09_a_wait_for_replicas_outlives_a_demotion,
];

async fn t10_the_address_of_a_replica_is_refused(program: Program) -> Outcome {
    let (_primary, replica) = start_pair(&program).await?;
    let error = refused(open(replica.address(), "").await)?;
    // It may be the primary again after the next failover.
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("the primary's address"),
        "{error}"
    );
    Ok(())
}

async fn t09_a_primary_that_becomes_a_replica_grants_nothing(program: Program) -> Outcome {
    let (primary, server) = (start(&program, &[]).await?, start(&program, &[]).await?);
    let locker = connect(server.address(), "").await?;
    let guard = locker.acquire("held").ttl(Duration::from_secs(2)).await?;
    follow(&server, Some(&primary)).await?;
    for _ in 0..3 {
        let error = refused(locker.try_acquire("a").await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(
            error.to_string().contains("the primary's address"),
            "{error}"
        );
    }
    let wait = locker.acquire("a").wait(Duration::from_millis(300));
    let error = refused(soon("the wait ends", wait).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // It cannot be renewed any more, and no server reports its loss: its deadline decides.
    assert_eq!(soon("it is lost", guard.lost()).await?, LostCause::Expired);
    // A wait goes on when it is a primary again.
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    follow(&server, None).await?;
    soon("it grants again", waiter).await???.release().await?;
    until_clean(&server).await
}

async fn t09_a_holder_outlives_a_short_demotion(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let nobody = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    demote(&node, &nobody).await?;
    let error = refused(guard.renew().await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(guard.is_held());
    follow(&node, None).await?;
    guard.renew().await?;
    guard.release().await?;
    nobody.cont()?;
    until_clean(&node).await
}

/// Makes it a replica that never reaches its primary, and so keeps its data.
async fn demote(node: &Node, nobody: &Node) -> Outcome {
    nobody.stop()?;
    follow(node, Some(nobody)).await
}

async fn t09_a_release_during_a_demotion_is_made_up_for(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let nobody = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    demote(&node, &nobody).await?;
    let error = refused(guard.release().await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(
        locks(&node).await?,
        ["dlock:a"],
        "a replica is not written to"
    );
    follow(&node, None).await?;
    until_clean(&node).await?;
    nobody.cont()?;
    Ok(())
}

/// The server lets go of who waits for replicas when it becomes one itself.
async fn t09_a_wait_for_replicas_outlives_a_demotion(program: Program) -> Outcome {
    let (primary, replica) = start_pair(&program).await?;
    let nobody = start(&program, &[]).await?;
    let locker = connect(primary.address(), "min_acks=1&timeout=10s").await?;
    replica.stop()?;
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    until("it waits for replicas", async || {
        Ok(primary.info("blocked_clients").await? == "1")
    })
    .await?;
    demote(&primary, &nobody).await?;
    until("it waits no more", async || {
        Ok(primary.info("blocked_clients").await? == "0")
    })
    .await?;
    follow(&primary, None).await?;
    replica.cont()?;
    soon("it is granted", waiter).await???.release().await?;
    nobody.cont()?;
    until_clean(&primary).await
}
