//! Replies that are late or lost, and ends that one side alone knows of (T64, T70).

use std::{future::IntoFuture as _, time::Duration};

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::mysql::Flavour;
use dlock_verify::proxy::{Direction, End, Fault, Proxy};

use crate::support::{
    HOLDING_CONNECTION, Outcome, TTL_LONG, cases, cut_off, end_session, holder, open, queued,
    sessions, soon, start, take, warm, within,
};

cases![
    t64_a_holder_that_is_cut_off_is_lost_before_the_next_one_has_it,
    t64_a_holder_whose_connection_had_a_longer_ttl_is_lost_as_soon,
    t64_a_grant_whose_reply_comes_after_the_ttl_is_none,
    k02_a_deadline_counts_from_before_the_request,
    k02_a_grant_whose_reply_is_late_has_its_whole_ttl,
    t70_a_lost_reply_ends_the_connection,
    a_session_that_only_the_server_knows_to_be_over_is_lost_by_its_ttl,
    a_session_that_the_network_ended_at_the_server_alone_is_known_at_once,
];

/// How long an answer may take, by default.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

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
    let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
    cut_off(&proxy);
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
    let late = open(&node.url_at(proxy.address()), Duration::from_secs(2)).await?;
    let other = open(&node.url(), TTL_LONG).await?;
    let held = take(&other, "a").await?;
    let waiter = queued(&node, late.acquire("a").wait_forever(), 1).await?;
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

/// A heartbeat follows it, and the hold counts from that.
async fn k02_a_grant_whose_reply_is_late_has_its_whole_ttl(flavour: Flavour) -> Outcome {
    const TTL: Duration = Duration::from_secs(8);
    /// More than a tenth of the ttl.
    const LATE: Duration = Duration::from_millis(1_500);
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL).await?;
    take(&locker, "a").await?.release().await?;
    let connection = proxy.connection(HOLDING_CONNECTION).await;
    let seen = connection.seen(Direction::ToClient);
    connection.set(Direction::ToClient, Fault::Hold);
    let granting = tokio::spawn(locker.acquire("a").no_renewal().into_future());
    let replied = connection.until_seen(Direction::ToClient, seen + 1);
    soon("it is granted", replied).await?;
    tokio::time::sleep(LATE).await;
    connection.set(Direction::ToClient, Fault::None);
    let guard = soon("the grant", granting).await???;
    let left = guard.remaining();
    assert!(left > TTL - LATE / 2, "{left:?} of {TTL:?} are left");
    Ok(guard.release().await?)
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
        let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
        cut_off(&proxy);
        let cut = clock.now();
        match how {
            "KILL" => {
                let idle = "SELECT id FROM information_schema.processlist WHERE user = 'app' AND \
                            command = 'Sleep'";
                let idle = node.query(idle).await?.into_iter().flatten();
                for id in idle.filter(|id| !before.contains(id)) {
                    end_session(&node, &id).await?;
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
    let waiter = queued(&node, other.acquire("a").wait_forever(), 1).await?;
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
