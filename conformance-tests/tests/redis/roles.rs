//! Servers that must not grant: replicas (T10), also those that were primaries.

use std::time::Duration;

use conformance_tests::servers::{Program, redis::Node};
use dlock::{ErrorKind, LostCause};

use crate::kit::{Outcome, cases, connect, open, refused, soon, start, take, until, until_clean};

cases![
    t10_the_address_of_a_replica_is_refused,
    t10_a_primary_that_becomes_a_replica_grants_nothing,
    t10_a_holder_outlives_a_short_demotion,
];

async fn follow(node: &Node, primary: Option<&Node>) -> Outcome {
    let address = primary.map(Node::address);
    let host = address.map_or("NO".to_owned(), |address| address.ip().to_string());
    let port = address.map_or("ONE".to_owned(), |address| address.port().to_string());
    node.ask(&["REPLICAOF", &host, &port]).await?;
    Ok(())
}

async fn t10_the_address_of_a_replica_is_refused(program: Program) -> Outcome {
    let (primary, replica) = (start(&program, &[]).await?, start(&program, &[]).await?);
    follow(&replica, Some(&primary)).await?;
    until("it follows", async || {
        Ok(replica.info("master_link_status").await? == "up")
    })
    .await?;
    let error = refused(open(replica.address(), "").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("the primary's address"),
        "{error}"
    );
    Ok(())
}

async fn t10_a_primary_that_becomes_a_replica_grants_nothing(program: Program) -> Outcome {
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
    // It cannot be renewed any more, and nobody says that it is gone: its deadline decides.
    assert_eq!(soon("it is lost", guard.lost()).await?, LostCause::Expired);
    // A wait goes on when it is a primary again.
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    follow(&server, None).await?;
    soon("it grants again", waiter).await???.release().await?;
    until_clean(&server).await
}

async fn t10_a_holder_outlives_a_short_demotion(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let nobody = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    // It never reaches its primary, so it keeps its data.
    nobody.stop()?;
    follow(&node, Some(&nobody)).await?;
    let error = refused(guard.renew().await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(guard.is_held());
    follow(&node, None).await?;
    guard.renew().await?;
    guard.release().await?;
    nobody.cont()?;
    until_clean(&node).await
}
