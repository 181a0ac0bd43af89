//! Sessions that end, hang or are cut off (T61, T63–T65, T67, T70).

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::mysql::Flavour;
use dlock_verify::proxy::{Direction, End, Fault, Proxy};
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, raw_sql};

use crate::support::{
    HOLDING_CONNECTION, Outcome, TTL_LONG, cases, cut_off, holder, open, sessions, soon, start,
    take, until, until_granting, waiting, warm, within,
};

cases![
    t61_a_lock_that_was_taken_leaves_no_transaction,
    t62_a_deadlock_ends_the_session_and_the_wait_goes_on,
    t63_a_cancelled_waiter_leaves_the_queue,
    t64_a_holder_that_is_cut_off_is_lost_before_the_next_one_has_it,
    t64_a_holder_whose_connection_had_a_longer_ttl_is_lost_as_soon,
    t64_a_grant_whose_reply_comes_after_the_ttl_is_none,
    k02_a_deadline_counts_from_before_the_request,
    t65_a_killed_session_is_known_at_once,
    t67_a_server_made_read_only_loses_its_locks,
    a_limit_for_silent_transactions_ends_no_hold,
    t70_a_lost_reply_ends_the_connection,
    a_restart_ends_all_and_a_wait_outlives_it,
    what_ended_while_it_was_idle_is_replaced,
    a_session_that_only_the_server_knows_to_be_over_is_lost_by_its_ttl,
    a_session_that_the_network_ended_at_the_server_alone_is_known_at_once,
];

/// How long a hold of a killed session may still call itself held.
const KNOWN_MAX: Duration = Duration::from_millis(200);

/// How long the statement of a cancelled waiter may stay in the queue. The server itself ends it after three seconds.
const LEFT_MAX: Duration = Duration::from_secs(1);

/// How long an answer may take, by default.
const ANSWER_MAX: Duration = Duration::from_secs(2);

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
    node.query("GRANT LOCK TABLES ON locks.* TO app").await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let token = held.token();
    let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
    let before = sessions(&node).await?;
    // Gets the table of the epoch, which the waiter reads next, and waits for the one that both have.
    let mut tables = MySqlConnection::connect(&node.url()).await?;
    let locking = tokio::spawn(async move {
        let lock = raw_sql("LOCK TABLES dlock_epoch WRITE, dlock_locks WRITE");
        lock.execute(&mut tables).await.map(|_| tables)
    });
    until("the other one waits, too", async || {
        let blocked = "SELECT id FROM information_schema.processlist WHERE info LIKE 'LOCK TABLES%' \
                       AND state LIKE 'Waiting%'";
        Ok(node.query(blocked).await?.len() == 1)
    })
    .await?;
    held.release().await?;
    let mut tables = soon("the tables are locked", locking).await???;
    raw_sql("UNLOCK TABLES").execute(&mut tables).await?;
    let guard = soon("it is granted", waiter).await???;
    assert!(guard.token() > token);
    let now = sessions(&node).await?;
    let ended = before.iter().filter(|id| !now.contains(id)).count();
    assert_eq!(ended, 1, "the session that was undone is not used again");
    Ok(guard.release().await?)
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
        let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
        until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
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

async fn t64_a_holder_that_is_cut_off_is_lost_before_the_next_one_has_it(
    flavour: Flavour,
) -> Outcome {
    cut_off_holder(flavour, None).await
}

async fn t64_a_holder_whose_connection_had_a_longer_ttl_is_lost_as_soon(
    flavour: Flavour,
) -> Outcome {
    cut_off_holder(flavour, Some(TTL_LONG)).await
}

/// Cuts off a holder, whose connection has had a hold of the ttl `before`.
async fn cut_off_holder(flavour: Flavour, before: Option<Duration>) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let ttl = Duration::from_secs(3);
    let holder = open(&node.url_at(proxy.address()), ttl).await?;
    let other = open(&node.url(), TTL_LONG).await?;
    if let Some(before) = before {
        let first = soon("it is granted", holder.acquire("a").ttl(before)).await??;
        first.release().await?;
    }
    let held = take(&holder, "a").await?;
    let (clock, lost) = (Clock::boottime(), held.lost());
    let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
    proxy.set(Direction::ToServer, Fault::Hold);
    proxy.set(Direction::ToClient, Fault::Hold);
    let cut = clock.now();
    let lost_at = async {
        lost.await;
        clock.now()
    };
    let granted_at = async { waiter.await.map(|guard| (guard, clock.now())) };
    let both = async { tokio::join!(lost_at, granted_at) };
    let (lost_at, granted) = within(ttl * 2 + SLACK, "both ends", both).await?;
    let (guard, granted_at) = granted?;
    assert!(lost_at < granted_at, "two holders");
    let took = granted_at.since(cut);
    assert!(took < ttl + SLACK, "the next one waited {took:?}");
    assert!(guard?.token() > held.token());
    Ok(())
}

/// The session of the grant had ended by then, and another client was granted.
async fn t64_a_grant_whose_reply_comes_after_the_ttl_is_none(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let cut_off = open(&node.url_at(proxy.address()), Duration::from_secs(2)).await?;
    let other = open(&node.url(), TTL_LONG).await?;
    let held = take(&other, "a").await?;
    let waiter = tokio::spawn(cut_off.acquire("a").wait_forever().into_future());
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
    proxy.set(Direction::ToClient, Fault::Hold);
    held.release().await?;
    let next = take(&other, "a").await?;
    proxy.set(Direction::ToClient, Fault::None);
    let token = next.token();
    next.release().await?;
    let guard = soon("it is granted", waiter).await???;
    assert!(guard.token() > token, "{} after {token}", guard.token());
    Ok(guard.release().await?)
}

async fn k02_a_deadline_counts_from_before_the_request(flavour: Flavour) -> Outcome {
    const LATE: Duration = Duration::from_millis(400);
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let ttl = Duration::from_secs(10);
    let locker = open(&node.url_at(proxy.address()), ttl).await?;
    // So that the next grant costs one request.
    take(&locker, "a").await?.release().await?;
    proxy.set(Direction::ToClient, Fault::Delay(LATE));
    let guard = take(&locker, "a").await?;
    for _ in 0..2 {
        let left = guard.remaining();
        assert!(
            left < ttl - LATE,
            "{left:?} of {ttl:?} are left after {LATE:?}"
        );
        guard.renew().await?;
    }
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

async fn t70_a_lost_reply_ends_the_connection(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    warm(&node, &locker).await?;
    // The connection that is idle now: its next reply comes too late.
    let connections = proxy.connections();
    let idle = connections.get(HOLDING_CONNECTION).ok_or("no connection")?;
    idle.set(Direction::ToClient, Fault::Discard);
    let error = locker.try_acquire("a").await.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    soon("it is closed", idle.until_ended()).await?;
    let guard = locker.try_acquire("a").await?.ok_or("not free")?;
    guard.release().await?;
    // The same with a release: its reply is lost, and the session is ended.
    let guard = take(&locker, "a").await?;
    let connections = proxy.connections();
    let connection = connections.last().ok_or("no connection")?;
    connection.set(Direction::ToClient, Fault::CutInstead);
    guard.release().await?;
    let guard = locker.try_acquire("a").await?.ok_or("not free")?;
    // And one that never arrives, nor the end of the connection: the session that still holds is ended in another way.
    let connections = proxy.connections();
    let connection = connections.last().ok_or("no connection")?;
    connection.set(Direction::ToServer, Fault::Hold);
    guard.release().await?;
    let other = open(&node.url(), TTL_LONG).await?;
    let guard = other.try_acquire("a").await?.ok_or("still held")?;
    Ok(guard.release().await?)
}

async fn a_restart_ends_all_and_a_wait_outlives_it(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let (holder, other) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let lost = held.lost();
    let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
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

/// The exception `mysql.session-ended`: a row lock ends with its session, and its holder is not reachable.
async fn a_session_that_only_the_server_knows_to_be_over_is_lost_by_its_ttl(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let clock = Clock::boottime();
    let ttl = Duration::from_secs(4);
    for how in ["KILL", "the network"] {
        let proxy = Proxy::start(node.address())?;
        let holder = open(&node.url_at(proxy.address()), ttl).await?;
        let other = open(&node.url(), TTL_LONG).await?;
        let before = sessions(&node).await?;
        let held = take(&holder, "a").await?;
        let lost = held.lost();
        let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
        until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
        cut_off(&proxy);
        let cut = clock.now();
        match how {
            "KILL" => {
                let idle = "SELECT id FROM information_schema.processlist WHERE user = 'app' AND \
                            command = 'Sleep'";
                let idle = node.query(idle).await?.into_iter().flatten();
                for id in idle.filter(|id| !before.contains(id)) {
                    node.query(&format!("KILL {id}")).await?;
                }
            }
            _ => proxy.end(End::Server),
        }
        let next = soon("it is granted", waiter).await???;
        // It is not notified before its time is over, and not later either. The token covers it.
        let cause = within(ttl + SLACK, "the loss", lost).await?;
        let reported = clock.now().since(cut);
        assert_eq!(cause, LostCause::Expired, "{how}");
        assert!(reported < ttl + SLACK, "{how}: reported after {reported:?}");
        assert!(next.token() > held.token(), "{how}");
        next.release().await?;
    }
    Ok(())
}

/// As far as new connections work.
async fn a_session_that_the_network_ended_at_the_server_alone_is_known_at_once(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    // A loss that was found in time: the connection that monitors is there, and not being made just now.
    let first = take(&holder, "a").await?;
    let session = self::holder(&node).await?;
    node.query(&format!("KILL {session}")).await?;
    soon("the first loss", first.lost()).await?;
    let held = take(&holder, "a").await?;
    let lost = held.lost();
    let other = open(&node.url(), TTL_LONG).await?;
    let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until("it waits", async || Ok(waiting(&node).await? == 1)).await?;
    let clock = Clock::boottime();
    let ended = clock.now();
    proxy.end(End::Server);
    let next = soon("it is granted", waiter).await???;
    // The connection that monitors it has to be given up first, which takes `timeout`.
    let cause = soon("the loss", lost).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    let reported = clock.now().since(ended);
    assert!(reported < ANSWER_MAX + SLACK, "reported after {reported:?}");
    assert!(next.token() > held.token());
    Ok(next.release().await?)
}
