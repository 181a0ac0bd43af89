//! Connections that are used often have their statements prepared.

use std::{future::IntoFuture as _, time::Duration};

use dlock::Locker;
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use sqlx::{Connection as _, MySqlConnection, Row as _, query, raw_sql};

use crate::{
    support::{
        HOLDING_CONNECTION, Outcome, TTL_LONG, cases, cut_off, open, queued, sessions, soon, start,
        take, until, waiting, warm,
    },
    tokens::grows,
};

cases![
    a_connection_that_is_used_often_prepares_its_statements,
    where_nothing_is_prepared_it_goes_on_as_text,
    a_prepared_select_counts_after_the_grant,
    a_prepared_select_finds_a_lock_and_no_row,
    a_line_that_is_slow_is_no_failure_when_it_prepares,
    a_prepared_connection_has_the_silence_of_each_ttl,
    t69_a_request_that_arrives_late_counts_by_no_old_epoch,
];

/// How often a connection is used until its statements are prepared for sure.
const OFTEN: usize = 10;

async fn a_connection_that_is_used_often_prepares_its_statements(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let before = said(&node, "Com_stmt_prepare").await?;
    use_often(&locker, "a").await?;
    use_often(&locker, "b").await?;
    // Two statements for all names: one locks and one frees.
    assert_eq!(said(&node, "Com_stmt_prepare").await?, before + 2);
    assert!(said(&node, "Com_stmt_execute").await? > before + 2);
    Ok(())
}

async fn where_nothing_is_prepared_it_goes_on_as_text(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    for max in ["0", "1"] {
        let set = format!("SET GLOBAL max_prepared_stmt_count = {max}");
        node.query(&set).await?;
        let locker = open(&node.url(), TTL_LONG).await?;
        warm(&node, &locker).await?;
        let before = sessions(&node).await?;
        use_often(&locker, "a").await?;
        assert_eq!(sessions(&node).await?, before, "with {max}");
        locker.shutdown(TTL_LONG).await?;
    }
    Ok(())
}

/// The order of tokens is that of grants because of this.
async fn a_prepared_select_counts_after_the_grant(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let begin =
        "SET SESSION autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let lock = "SELECT UUID_SHORT() FROM dlock_locks WHERE name = ? FOR UPDATE";
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut session = MySqlConnection::connect(&node.url()).await?;
        let insert = "INSERT IGNORE INTO dlock_locks VALUES ('a')";
        raw_sql(insert).execute(&mut session).await?;
        raw_sql(begin).execute(&mut session).await?;
        sessions.push(session);
    }
    let (mut waiter, mut holder) = sessions.pop().zip(sessions.pop()).ok_or("no session")?;
    query(lock).bind("a").fetch_one(&mut holder).await?;
    let granted = tokio::spawn(async move {
        let row = query(lock).bind("a").fetch_one(&mut waiter).await?;
        row.try_get_unchecked::<u64, _>(0)
    });
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
    let last = query("SELECT UUID_SHORT()").fetch_one(&mut holder).await?;
    let last: u64 = last.try_get_unchecked(0)?;
    raw_sql("COMMIT").execute(&mut holder).await?;
    let granted = soon("it is granted", granted).await???;
    assert!(granted > last, "{granted} is from before {last}");
    Ok(())
}

async fn a_prepared_select_finds_a_lock_and_no_row(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (locker, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&other, "a").await?;
    use_often(&locker, "b").await?;
    assert!(locker.try_acquire("a").await?.is_none());
    node.query("DELETE FROM locks.dlock_locks WHERE name = 'b'")
        .await?;
    use_often(&locker, "b").await?;
    // The connection that does not wait waits as well.
    let waiter = queued(&node, locker.acquire("a").wait_forever(), 1).await?;
    held.release().await?;
    let guard = soon("it is granted", waiter).await???;
    Ok(guard.release().await?)
}

/// `timeout=` is how long an answer may take. To prepare costs a second one, which has its own.
async fn a_line_that_is_slow_is_no_failure_when_it_prepares(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let url = format!("{}?timeout=500ms", node.url_at(proxy.address()));
    let locker = open(&url, TTL_LONG).await?;
    warm(&node, &locker).await?;
    let before = sessions(&node).await?;
    // An answer takes three fifths of what it may.
    proxy.set(
        Direction::ToClient,
        Fault::Delay(Duration::from_millis(300)),
    );
    use_often(&locker, "a").await?;
    assert_eq!(sessions(&node).await?, before, "a session was ended");
    Ok(())
}

/// A prepared statement does not set the session's limit of silence: it is for holds of the ttl before.
async fn a_prepared_connection_has_the_silence_of_each_ttl(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    let other = open(&node.url(), TTL_LONG).await?;
    use_often(&locker, "a").await?;
    let held = locker.acquire("a").ttl(Duration::from_secs(2)).await?;
    cut_off(&proxy);
    let next = take(&other, "a").await?;
    assert!(next.token() > held.token());
    Ok(next.release().await?)
}

/// The epoch that was read was new when the request was sent, and is old when the lock is granted.
async fn t69_a_request_that_arrives_late_counts_by_no_old_epoch(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    use_often(&locker, "a").await?;
    let connections = proxy.connections();
    let connection = connections.get(HOLDING_CONNECTION).ok_or("no connection")?;
    let seen = connection.seen(Direction::ToServer);
    connection.set(Direction::ToServer, Fault::Hold);
    let late = tokio::spawn(locker.acquire("a").into_future());
    soon(
        "it is sent",
        connection.until_seen(Direction::ToServer, seen + 1),
    )
    .await?;
    // Another server takes over, and this one from it.
    node.query("UPDATE locks.dlock_epoch SET epoch = epoch + 5, boot = 7 WHERE id = 1")
        .await?;
    let other = open(&node.url(), TTL_LONG).await?;
    let before = take(&other, "a").await?;
    let token = before.token();
    before.release().await?;
    connection.set(Direction::ToServer, Fault::None);
    let guard = soon("it is granted", late).await???;
    assert!(guard.token() > token, "{} after {token}", guard.token());
    Ok(guard.release().await?)
}

async fn use_often(locker: &Locker, name: &str) -> Outcome {
    let mut last = None;
    for _ in 0..OFTEN {
        let guard = take(locker, name).await?;
        grows(&mut last, guard.token());
        guard.release().await?;
    }
    Ok(())
}

/// A counter of the server over all its sessions.
async fn said(node: &Node, what: &str) -> Outcome<u64> {
    let rows = node
        .query(&format!("SHOW GLOBAL STATUS LIKE '{what}'"))
        .await?;
    Ok(rows[0][1].parse()?)
}
