//! Sessions, transactions and waits that end: by the server, its administrator or their caller (T61–T63, T65, T67).

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::mysql::{Flavour, Node};
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, raw_sql};
use tokio::task::JoinHandle;

use crate::support::{
    EPOCH_FRESH, Outcome, TTL_LONG, UNTIL_PREPARED, cases, end_session, execute, holder, open,
    queued, root, sessions, soon, start, take, until, until_granting, waiting,
};

cases![
    t61_a_lock_that_was_taken_leaves_no_transaction,
    t62_a_deadlock_ends_the_session_and_the_wait_goes_on,
    t62_a_deadlock_of_a_renewal_is_a_loss,
    t63_a_cancelled_waiter_leaves_the_queue,
    t65_a_killed_session_is_known_at_once,
    t67_a_server_made_read_only_loses_its_locks,
    a_limit_for_silent_transactions_ends_no_hold,
    a_restart_ends_all_and_a_wait_outlives_it,
    what_ended_while_it_was_idle_is_replaced,
];

/// How long a hold of a killed session may still call itself held.
const KNOWN_MAX: Duration = Duration::from_millis(200);

/// How long the statement of a cancelled waiter may stay in the queue. The server itself ends it after three seconds.
const LEFT_MAX: Duration = Duration::from_secs(1);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

async fn t61_a_lock_that_was_taken_leaves_no_transaction(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    assert!(other.try_acquire("a").await?.is_none());
    let open = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx";
    // Shown as it was a tenth of a second ago.
    until("only the holder's transaction", async || {
        Ok(node.query(open).await?.len() == 1)
    })
    .await?;
    // And the connection is as good as new.
    held.release().await?;
    take(&other, "a").await?.release().await?;
    Ok(())
}

/// The row was granted when the server found that its session and another one wait for each other. It undoes the
/// whole transaction, and with it the grant.
async fn t62_a_deadlock_ends_the_session_and_the_wait_goes_on(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let token = held.token();
    let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
    tokio::time::sleep(EPOCH_FRESH).await;
    let before = sessions(&node).await?;
    let locking = lock_tables(&node).await?;
    held.release().await?;
    let mut tables = soon("the tables are locked", locking).await???;
    execute(&mut tables, "UNLOCK TABLES").await?;
    let guard = soon("it is granted", waiter).await???;
    assert!(guard.token() > token);
    let now = sessions(&node).await?;
    let ended = before.iter().filter(|id| !now.contains(id)).count();
    assert_eq!(ended, 1, "the session that was undone is not used again");
    Ok(guard.release().await?)
}

/// A renewal without another connection reads the epoch in the transaction that holds. The server undoes that one,
/// and with it the grant, and the session goes on.
async fn t62_a_deadlock_of_a_renewal_is_a_loss(flavour: Flavour) -> Outcome {
    let ttl = Duration::from_secs(6);
    let node = start(flavour).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 2")
        .await?;
    let locker = open(&node.url(), ttl).await?;
    // A prepared statement leaves the table of the epoch free.
    for _ in 0..UNTIL_PREPARED {
        take(&locker, "a").await?.release().await?;
    }
    let held = take(&locker, "a").await?;
    let session = holder(&node).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 1")
        .await?;
    for other in sessions(&node).await? {
        if other != session {
            end_session(&node, &other).await?;
        }
    }
    let locking = lock_tables(&node).await?;
    assert!(held.is_held());
    let cause = soon("the loss", held.lost()).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    let mut tables = soon("the tables are locked", locking).await???;
    execute(&mut tables, "UNLOCK TABLES").await
}

/// Locks the table of the epoch, and waits for that of the locks, where one is held, when this returns.
async fn lock_tables(node: &Node) -> Outcome<JoinHandle<Outcome<MySqlConnection>>> {
    let mut tables = root(node).await?;
    let locking = tokio::spawn(async move {
        execute(
            &mut tables,
            "LOCK TABLES dlock_epoch WRITE, dlock_locks WRITE",
        )
        .await?;
        Ok(tables)
    });
    until("it waits for the table of the locks", async || {
        let blocked = "SELECT id FROM information_schema.processlist WHERE info LIKE 'LOCK TABLES%' \
                       AND state LIKE 'Waiting%'";
        Ok(node.query(blocked).await?.len() == 1)
    })
    .await?;
    Ok(locking)
}

async fn t63_a_cancelled_waiter_leaves_the_queue(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let clock = Clock::boottime();
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
        waiter.abort();
        let cancelled = clock.now();
        until("it has left", async || Ok(waiting(&node).await? == 0)).await?;
        best = best.min(clock.now().since(cancelled));
        assert!(held.is_held());
    }
    // The machine may be busy once, and not each time.
    assert!(best < LEFT_MAX, "left after {best:?} at best");
    // A wait that is over by itself, too.
    let waited = other.acquire("a").wait(Duration::from_millis(300)).await;
    let error = waited.err().ok_or("granted twice")?;
    assert_eq!(error.kind(), ErrorKind::Contended, "{error}");
    until("it has left", async || Ok(waiting(&node).await? == 0)).await?;
    held.release().await?;
    let third = open(&node.url(), TTL_LONG).await?;
    let guard = third
        .try_acquire("a")
        .await?
        .ok_or("an undone acquire has it")?;
    Ok(guard.release().await?)
}

async fn t65_a_killed_session_is_known_at_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let clock = Clock::boottime();
    // Ready, so that only what dlock does is measured.
    let mut killer = MySqlConnection::connect(&node.url()).await?;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let held = take(&locker, "a").await?;
        let lost = held.lost();
        let holder = holder(&node).await?;
        let killed = clock.now();
        raw_sql(AssertSqlSafe(format!("KILL {holder}")))
            .execute(&mut killer)
            .await?;
        let cause = soon("the loss", lost).await?;
        best = best.min(clock.now().since(killed));
        assert_eq!(cause, LostCause::SessionEnded);
        assert!(!held.is_held());
        assert!(held.release().await.is_err(), "a loss is reported");
    }
    // The machine may be busy once, and not each time.
    assert!(best < KNOWN_MAX, "known after {best:?} at best");
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t67_a_server_made_read_only_loses_its_locks(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let lost = held.lost();
    node.query("SET GLOBAL read_only = 1").await?;
    assert!(held.renew().await.is_err());
    assert_eq!(soon("the loss", lost).await?, LostCause::Demoted);
    let error = locker.try_acquire("b").await.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("read-only"), "{error}");
    let error = open(&node.url(), TTL_LONG).await.err().ok_or("connected")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    node.query("SET GLOBAL read_only = 0").await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

/// MariaDB ends silent transactions, if configured so, before a holder could know.
async fn a_limit_for_silent_transactions_ends_no_hold(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    if flavour == Flavour::MariaDbStable {
        let names = ["transaction", "readonly_transaction", "write_transaction"];
        let limits = names.map(|name| format!("SET GLOBAL idle_{name}_timeout = 1"));
        node.query(&limits.join("; ")).await?;
    }
    let locker = open(&node.url(), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let ended = tokio::time::timeout(SLACK, held.lost()).await;
    assert!(ended.is_err(), "lost after a second of silence: {ended:?}");
    held.renew().await?;
    Ok(held.release().await?)
}

async fn a_restart_ends_all_and_a_wait_outlives_it(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let lost = held.lost();
    let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
    node.restart().await?;
    assert_eq!(soon("the loss", lost).await?, LostCause::SessionEnded);
    let guard = soon("the grant", waiter).await???;
    assert!(guard.token() > held.token());
    Ok(guard.release().await?)
}

async fn what_ended_while_it_was_idle_is_replaced(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    node.query("SET GLOBAL wait_timeout = 1").await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    take(&locker, "a").await?.release().await?;
    // The one that held has the silence of its ttl.
    until("the other one has ended", async || {
        Ok(sessions(&node).await?.len() == 1)
    })
    .await?;
    assert!(locker.inspect("a").await?.is_none());
    node.restart().await?;
    until_granting(&node).await?;
    for name in ["a", "new"] {
        let guard = locker.try_acquire(name).await?.ok_or("not free")?;
        guard.release().await?;
    }
    Ok(())
}
