//! Which session is which: a lock is one session's, of one start of one server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock::{ErrorKind, Guard, LostCause};
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use sqlx::{Connection as _, MySqlConnection, Row as _, query};

use crate::{
    relay::Relay,
    support::{
        EPOCH_FRESH, HOLDING_CONNECTION, Outcome, SOON, TTL_LONG, cases, execute, holder, open,
        root, sessions, soon, start, take, until, warm, within,
    },
};

cases![
    t66_a_heartbeat_that_another_session_answers_ends_the_hold,
    a_foreign_session_with_the_number_of_a_session_from_before_a_restart_is_not_killed,
    k09_an_acquire_whose_end_does_not_arrive_is_undone,
    a_committed_token_is_for_the_session_that_still_holds,
    a_token_of_a_raised_epoch_is_for_the_session_that_still_holds,
];

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

/// A proxy that shares sessions has moved it: the session that answers is not the one that holds. The next
/// renewal finds out.
async fn t66_a_heartbeat_that_another_session_answers_ends_the_hold(flavour: Flavour) -> Outcome {
    let ttl = Duration::from_secs(6);
    let node = start(flavour).await?;
    // Of each locker: the connections for tables, for holds and for the control of sessions.
    let relay = Relay::start(node.address(), [HOLDING_CONNECTION, 3 + HOLDING_CONNECTION]).await?;
    let url = format!("{}?tls=disabled", node.url_at(relay.address));
    let mut held = Vec::new();
    for (count, name) in [(3, "a"), (6, "b")] {
        let locker = open(&url, ttl).await?;
        held.push(take(&locker, name).await?);
        until("its session is monitored", async || {
            Ok(sessions(&node).await?.len() == count)
        })
        .await?;
    }
    for held in &held {
        held.renew().await?;
    }
    let lost = held.iter().map(Guard::lost).collect::<Vec<_>>();
    relay.swap();
    for lost in lost {
        let cause = within(ttl / 3 + SLACK, "the loss", lost).await?;
        assert_eq!(cause, LostCause::SessionEnded);
    }
    Ok(())
}

/// Connections are numbered from the beginning by each start of a server.
async fn a_foreign_session_with_the_number_of_a_session_from_before_a_restart_is_not_killed(
    flavour: Flavour,
) -> Outcome {
    let mut node = start(flavour).await?;
    let (open_to, server) = (Arc::new(AtomicBool::new(true)), node.address());
    let is_open = open_to.clone();
    let proxy = Proxy::switch(move |_| is_open.load(Ordering::Acquire).then_some(server))?;
    // So that there are fewer connections after the restart before the foreign session comes.
    for _ in 0..100 {
        foreign_session(&node).await?;
    }
    let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    warm(&node, &locker).await?;
    let held = take(&locker, "a").await?;
    let session: u64 = holder(&node).await?.parse()?;
    // Neither direction reaches the other end.
    open_to.store(false, Ordering::Release);
    proxy.set(Direction::ToServer, Fault::Hold);
    proxy.set(Direction::ToClient, Fault::Hold);
    node.restart().await?;
    let (mut foreign_session, number) = loop {
        let (foreign_session, number) = foreign_session(&node).await?;
        if number >= session {
            break (foreign_session, number);
        }
    };
    assert_eq!(number, session, "another session came between");
    proxy.set(Direction::ToServer, Fault::None);
    proxy.set(Direction::ToClient, Fault::None);
    open_to.store(true, Ordering::Release);
    assert_eq!(
        soon("the loss", held.lost()).await?,
        LostCause::SessionEnded
    );
    drop(held);
    soon("all is released", locker.shutdown(SOON)).await??;
    execute(&mut foreign_session, "DO 1").await?;
    Ok(())
}

/// A session of the user of the locks, and its number.
async fn foreign_session(node: &Node) -> Outcome<(MySqlConnection, u64)> {
    let mut session = MySqlConnection::connect(&node.url()).await?;
    let row = query("SELECT CONNECTION_ID()").fetch_one(&mut session);
    let number = row.await?.try_get_unchecked(0)?;
    Ok((session, number))
}

/// The acquire's reply is lost, and so is the end of its connection: only its `KILL` frees the row before
/// its ttl.
async fn k09_an_acquire_whose_end_does_not_arrive_is_undone(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let url = format!("{}?timeout=1s", node.url_at(proxy.address()));
    let locker = open(&url, TTL_LONG).await?;
    warm(&node, &locker).await?;
    let connection = proxy.connection(HOLDING_CONNECTION).await;
    let passed = connection.passed(Direction::ToServer);
    connection.set(Direction::ToClient, Fault::Hold);
    let lost = tokio::spawn(locker.try_acquire("warm").into_future());
    connection
        .until_passed(Direction::ToServer, passed + 1)
        .await;
    connection.set(Direction::ToServer, Fault::Hold);
    let error = soon("its end", lost).await??.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let other = open(&node.url(), TTL_LONG).await?;
    let guard = other.try_acquire("warm").await?.ok_or("not free")?;
    Ok(guard.release().await?)
}

/// The session ends while the counter is committed, and another client has the row.
async fn a_committed_token_is_for_the_session_that_still_holds(flavour: Flavour) -> Outcome {
    ends_while_it_counts(flavour, "committed").await
}

/// The session ends while the epoch is raised: the next holder, by the old epoch, would have the smaller token.
async fn a_token_of_a_raised_epoch_is_for_the_session_that_still_holds(
    flavour: Flavour,
) -> Outcome {
    ends_while_it_counts(flavour, "epoch").await
}

async fn ends_while_it_counts(flavour: Flavour, tokens: &str) -> Outcome {
    let node = start(flavour).await?;
    let url = format!("{}?token={tokens}&timeout=30s", node.url());
    let locker = open(&url, TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let session = holder(&node).await?;
    held.release().await?;
    // It lags behind the clock.
    node.query("UPDATE locks.dlock_epoch SET epoch = epoch - 60 WHERE id = 1")
        .await?;
    tokio::time::sleep(EPOCH_FRESH).await;
    // The counter and the epoch wait for the lock of the trigger.
    let mut trigger_lock = root(&node).await?;
    execute(&mut trigger_lock, "DO GET_LOCK('counting', 0)").await?;
    let trigger = "CREATE TRIGGER locks.counting BEFORE UPDATE ON locks.dlock_epoch FOR EACH ROW DO \
                   GET_LOCK('counting', 20)";
    node.query(trigger).await?;
    let late = tokio::spawn(locker.try_acquire("a").into_future());
    until("it counts", async || {
        let counting = "SELECT id FROM information_schema.processlist WHERE state = 'User lock'";
        Ok(node.query(counting).await?.len() == 1)
    })
    .await?;
    node.query(&format!("KILL {session}")).await?;
    let mut other = MySqlConnection::connect(&node.url()).await?;
    let lock = "BEGIN; SELECT name FROM dlock_locks WHERE name = 'a' FOR UPDATE";
    soon("the row is free", execute(&mut other, lock)).await??;
    execute(&mut trigger_lock, "DO RELEASE_LOCK('counting')").await?;
    let guard = soon("its end", late).await??;
    assert!(!matches!(guard, Ok(Some(_))), "two hold it");
    Ok(())
}
