//! Statements of others that need all tables, or one of dlock's, for themselves.

use std::{future::Future, time::Duration};

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use sqlx::MySqlConnection;
use tokio::task::JoinHandle;

use crate::support::{
    EPOCH_FRESH, HOLDING_CONNECTION, Outcome, TTL_LONG, cases, end_session, execute, holder, open,
    queued, root, sessions, soon, start, take, until, waiting, warm, within,
};

cases![
    a_backup_waits_seconds_for_waiters,
    renewals_and_releases_go_on_beside_a_change_of_the_table,
    renewals_and_releases_go_on_beside_a_backup,
    renewals_go_on_beside_a_backup_in_which_no_ttl_can_be_written,
    a_wait_outlives_a_change_of_the_table,
    a_try_beside_a_locked_table_of_the_epoch_says_so,
    an_inspection_beside_a_backup_says_so,
    renewals_go_on_beside_a_change_of_the_epochs_table,
    renewals_go_on_where_no_connection_is_left_for_the_tables,
];

/// How long the statement of a waiter may wait before it is sent again.
const QUEUE_MAX: Duration = Duration::from_secs(4);

/// The time within which the reason why new grants wait is reported.
const SAID_MAX: Duration = Duration::from_secs(1);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

/// All writes of others wait during the backup.
async fn a_backup_waits_seconds_for_waiters(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let holder = open(&node.url(), TTL_LONG).await?;
    let held = take(&holder, "a").await?;
    let mut waiters = Vec::new();
    for count in 1..=2 {
        let other = open(&node.url(), TTL_LONG).await?;
        // The order of the grants does not matter.
        waiters.push(tokio::spawn(async move {
            other.acquire("a").wait_forever().await?.release().await
        }));
        until("it waits", async || Ok(waiting(&node).await? == count)).await?;
    }
    let mut backup = root(&node).await?;
    for _ in 0..2 {
        let clock = Clock::boottime();
        let began = clock.now();
        let flush = execute(&mut backup, "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES");
        soon("the backup", flush).await??;
        let took = clock.now().since(began);
        assert!(took < QUEUE_MAX + SLACK, "it waited {took:?}");
        until("they wait again", async || Ok(waiting(&node).await? == 2)).await?;
    }
    held.release().await?;
    for waiter in waiters {
        soon("it is granted", waiter).await???;
    }
    Ok(())
}

/// New grants cannot, and say so.
async fn renewals_and_releases_go_on_beside_a_change_of_the_table(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut altering = None;
    beside(&node, "ALTER TABLE", async || {
        altering = Some(alter(&node).await?);
        Ok(())
    })
    .await?;
    soon("the change", altering.ok_or("no change")?).await??
}

async fn renewals_and_releases_go_on_beside_a_backup(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut backup = root(&node).await?;
    let flush = "FLUSH TABLES WITH READ LOCK";
    beside(&node, flush, async || execute(&mut backup, flush).await).await
}

/// Others have used no longer ttl for long, and the row says so.
async fn renewals_go_on_beside_a_backup_in_which_no_ttl_can_be_written(
    flavour: Flavour,
) -> Outcome {
    const TTL: Duration = Duration::from_secs(2);
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL).await?;
    let held = take(&locker, "a").await?;
    node.query(
        "UPDATE locks.dlock_epoch SET ttl_max = 1, ttl_max_before = 1, period = period + 2 WHERE id = 1",
    )
    .await?;
    let mut backup = root(&node).await?;
    execute(&mut backup, "FLUSH TABLES WITH READ LOCK").await?;
    // What was read before the backup counts for three ttls at the most.
    let lost = tokio::time::timeout(4 * TTL, held.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    at_once("a release", held.release()).await??;
    Ok(())
}

/// Checks holds and error messages beside the statement that `begin` starts.
async fn beside(node: &Node, words: &str, begin: impl AsyncFnOnce() -> Outcome) -> Outcome {
    let proxy = Proxy::start(node.address())?;
    let (locker, other) = (
        open(&node.url_at(proxy.address()), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    // Both are used, and their rows are there.
    warm(node, &locker).await?;
    take(&other, "free").await?.release().await?;
    let last = take(&locker, "last").await?;
    let mut guards = Vec::new();
    for name in ["renewed", "lost", "killed"] {
        let before = sessions(node).await?;
        let guard = take(&locker, name).await?;
        let now = sessions(node).await?;
        guards.push((guard, now.into_iter().find(|id| !before.contains(id))));
    }
    let (killed, session) = guards.pop().ok_or("no guard")?;
    let (silent, _) = guards.pop().ok_or("no guard")?;
    begin().await?;

    let mut best = Duration::MAX;
    for _ in 0..3 {
        let clock = Clock::boottime();
        let began = clock.now();
        let error = other.try_acquire("free").await.err().ok_or("granted")?;
        best = best.min(clock.now().since(began));
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(best < SAID_MAX, "said after {best:?} at best");
    let error = other.acquire("free").wait(Duration::from_secs(2)).await;
    let error = error.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(words), "{error}");

    last.renew().await?;
    let (renewed, _) = guards.pop().ok_or("no guard")?;
    renewed.renew().await?;
    at_once("a release", renewed.release()).await??;
    // The reply of a release is lost, so its session is ended.
    let connections = proxy.connections();
    let connection = connections
        .get(HOLDING_CONNECTION + 3)
        .ok_or("no connection")?;
    connection.set(Direction::ToClient, Fault::CutInstead);
    at_once("a release without a reply", silent.release()).await??;
    let lost = killed.lost();
    let session = session.ok_or("no session of its own")?;
    node.query(&format!("KILL {session}")).await?;
    let cause = at_once("the loss", lost).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    last.renew().await?;
    at_once("the last release", last.release()).await??;
    Ok(())
}

async fn at_once<T>(what: &str, answer: impl Future<Output = T>) -> Outcome<T> {
    within(SLACK, what, answer).await
}

/// The waiter waits behind the change, and reports why; then it is granted.
async fn a_wait_outlives_a_change_of_the_table(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (locker, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&locker, "held").await?;
    let altering = alter(&node).await?;
    // MySQL may grant it in the middle of the change, whose end then waits for the release.
    let waiter =
        tokio::spawn(async move { other.acquire("free").wait_forever().await?.release().await });
    until("it waits for the table", async || {
        Ok(waiting_for_table(&node).await? == 2)
    })
    .await?;
    held.release().await?;
    soon("the change", altering).await???;
    Ok(soon("it is granted", waiter).await???)
}

/// The lock is free, so the try must not say that it is taken. A new connection reads that table before the lock, an old
/// one behind it, and a new control connection before all.
async fn a_try_beside_a_locked_table_of_the_epoch_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let cut_off = open(&node.url(), TTL_LONG).await?;
    let to_end = sessions(&node).await?;
    let (new, old) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    take(&old, "free").await?.release().await?;
    tokio::time::sleep(EPOCH_FRESH).await;
    let mut admin = root(&node).await?;
    execute(&mut admin, "LOCK TABLES dlock_epoch WRITE").await?;
    for session in to_end {
        end_session(&node, &session).await?;
    }
    for locker in [new, old, cut_off] {
        let error = locker.try_acquire("free").await.err();
        let error = error.ok_or("it says that the lock is taken")?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("LOCK TABLES"), "{error}");
    }
    Ok(())
}

async fn an_inspection_beside_a_backup_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let mut backup = root(&node).await?;
    execute(&mut backup, "FLUSH TABLES WITH READ LOCK").await?;
    let error = locker.inspect("a").await.err().ok_or("answered")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("FLUSH TABLES WITH READ LOCK"),
        "{error}"
    );
    execute(&mut backup, "UNLOCK TABLES").await?;
    assert!(locker.inspect("a").await?.is_some());
    Ok(held.release().await?)
}

/// Changes the table of the locks as soon as nothing is held; it waits when this returns.
async fn alter(node: &Node) -> Outcome<JoinHandle<Outcome>> {
    let mut admin: MySqlConnection = root(node).await?;
    let altering = tokio::spawn(async move {
        execute(&mut admin, "ALTER TABLE dlock_locks COMMENT = 'changed'").await
    });
    until("the change waits", async || {
        Ok(waiting_for_table(node).await? == 1)
    })
    .await?;
    Ok(altering)
}

/// How many sessions wait for a table.
async fn waiting_for_table(node: &Node) -> Outcome<usize> {
    let sql = "SELECT id FROM information_schema.processlist WHERE state = 'Waiting for table metadata \
               lock'";
    Ok(node.query(sql).await?.len())
}

/// The number of ttls that the case goes on: a locker's reading of that table proves for nearly three that
/// a restart is waited for.
const PROVED_TTLS: u32 = 5;

/// A waiter has read the row of the epoch in its transaction. The change waits behind it, and all readers of the
/// row wait behind the change.
async fn renewals_go_on_beside_a_change_of_the_epochs_table(flavour: Flavour) -> Outcome {
    const TTL: Duration = Duration::from_secs(2);
    let node = start(flavour).await?;
    let (locker, other) = (open(&node.url(), TTL).await?, open(&node.url(), TTL).await?);
    let first = take(&locker, "a").await?;
    let before = take(&locker, "b").await?;
    let waiter = queued(&node, other.acquire("b").wait_forever(), 1).await?;
    tokio::time::sleep(EPOCH_FRESH).await;
    before.release().await?;
    let second = soon("it is granted", waiter).await???;
    let mut admin = root(&node).await?;
    let altering = tokio::spawn(async move {
        execute(&mut admin, "ALTER TABLE dlock_epoch COMMENT = 'changed'").await
    });
    let lost = async {
        tokio::select! {
            cause = first.lost() => cause,
            cause = second.lost() => cause,
        }
    };
    let lost = tokio::time::timeout(TTL * PROVED_TTLS, lost).await;
    assert!(lost.is_err(), "lost: {lost:?}");
    first.release().await?;
    second.release().await?;
    soon("the change", altering).await??
}

/// The connection that works with the tables is ended, and the account may have no other.
async fn renewals_go_on_where_no_connection_is_left_for_the_tables(flavour: Flavour) -> Outcome {
    const TTL: Duration = Duration::from_secs(2);
    let node = start(flavour).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 2")
        .await?;
    let locker = open(&node.url(), TTL).await?;
    let held = take(&locker, "a").await?;
    let session = holder(&node).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 1")
        .await?;
    for other in sessions(&node).await? {
        if other != session {
            end_session(&node, &other).await?;
        }
    }
    let lost = tokio::time::timeout(TTL * PROVED_TTLS, held.lost()).await;
    assert!(lost.is_err(), "lost: {lost:?}");
    Ok(held.release().await?)
}
