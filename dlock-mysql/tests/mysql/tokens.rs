//! Tokens over crashes, restarts and failovers (T69).

use std::{future::IntoFuture as _, sync::Arc, time::Duration};

use dlock::{ErrorKind, Token};
use dlock_core::Clock;
use dlock_servers::mysql::{Flavour, Node};
use tokio::{sync::Mutex, task::JoinSet};

use crate::support::{Outcome, TTL_LONG, cases, open, start, take, until, until_granting};

cases![
    t69_they_grow_over_crashes_of_the_server,
    t69_those_that_are_committed_do_so_too,
    they_grow_from_one_way_to_the_other,
    t69_a_server_promoted_again_counts_on,
    t69_who_takes_over_from_another_server_waits,
    t69_a_row_that_was_lost_counts_on,
    t69_a_lost_row_of_a_clock_that_was_ahead_is_overtaken,
    a_server_that_has_just_started_grants_nothing,
    the_epoch_is_raised_once_for_each_start,
    t69_they_grow_while_epochs_are_used_up,
    an_epoch_that_is_behind_is_used_up_and_raised,
];

/// How long a connection uses what it has read of the epoch.
const READ_MAX: Duration = Duration::from_millis(500);

/// An epoch that was lost is created again from the server's clock, which counts seconds. Longer than
/// [`READ_MAX`], too.
const NEXT_SECOND: Duration = Duration::from_millis(1_100);

/// How many seconds a clock was ahead: longer than a test needs to take two locks.
const AHEAD: u64 = 10;

/// The number of `UUID_SHORT()` values that an epoch counts for.
const SERIALS: u64 = 1 << 18;

/// How often all are used up, while several lockers count.
const USED_UP: u64 = 20;

/// How often the server crashes. Each costs the two seconds in which it grants nothing.
const CRASHES: usize = 4;

async fn t69_they_grow_over_crashes_of_the_server(flavour: Flavour) -> Outcome {
    crash(flavour, "epoch").await
}

async fn t69_those_that_are_committed_do_so_too(flavour: Flavour) -> Outcome {
    crash(flavour, "committed").await
}

async fn crash(flavour: Flavour, tokens: &str) -> Outcome {
    let mut node = start(flavour).await?;
    let mut last = None;
    for _ in 0..CRASHES {
        let locker = open(&format!("{}?token={tokens}", node.url()), TTL_LONG).await?;
        for _ in 0..50 {
            let guard = take(&locker, "a").await?;
            grows(&mut last, guard.token());
            guard.release().await?;
        }
        let on_its_way = tokio::spawn(locker.try_acquire("a").into_future());
        tokio::task::yield_now().await;
        node.kill()?;
        if let Ok(Some(guard)) = on_its_way.await? {
            grows(&mut last, guard.token());
        }
        node.resume().await?;
        until_granting(&node).await?;
    }
    Ok(())
}

/// A server that was demoted, and promoted again after another one had granted, has not noticed; the
/// row, which it replicated, has.
async fn t69_a_server_promoted_again_counts_on(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let mut last = None;
    for _ in 0..2 {
        let guard = take(&locker, "a").await?;
        grows(&mut last, guard.token());
        guard.release().await?;
        // Another server granted a million, of which this one knows by its row alone.
        node.query("UPDATE locks.dlock_epoch SET epoch = epoch + 5, boot = 7, base = 0")
            .await?;
        let elsewhere = Token::new(((epoch(&node).await?) << 20) + 1_000_000);
        grows(&mut last, elsewhere.ok_or("no token")?);
        tokio::time::sleep(NEXT_SECOND).await;
    }
    let guard = take(&locker, "a").await?;
    grows(&mut last, guard.token());
    Ok(guard.release().await?)
}

/// For as long as connections to that one use what they have read: it may be promoted again.
async fn t69_who_takes_over_from_another_server_waits(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let clock = Clock::boottime();
    node.query("UPDATE locks.dlock_epoch SET boot = 7").await?;
    let began = clock.now();
    let locker = open(&node.url(), TTL_LONG).await?;
    let guard = take(&locker, "a").await?;
    let took = clock.now().since(began);
    assert!(took >= READ_MAX, "granted after {took:?}");
    Ok(guard.release().await?)
}

/// The clock is what remains.
async fn t69_a_row_that_was_lost_counts_on(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut last = None;
    for _ in 0..3 {
        let locker = open(&node.url(), TTL_LONG).await?;
        let guard = take(&locker, "a").await?;
        grows(&mut last, guard.token());
        guard.release().await?;
        node.query("UPDATE locks.dlock_epoch SET epoch = 0, boot = 0, base = 0")
            .await?;
        tokio::time::sleep(NEXT_SECOND).await;
    }
    Ok(())
}

/// Tokens are smaller until the clock has come as far as it was, and the epoch is raised again (`mysql.lost-row`).
async fn t69_a_lost_row_of_a_clock_that_was_ahead_is_overtaken(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let token = async || {
        let locker = open(&node.url(), TTL_LONG).await?;
        let guard = take(&locker, "a").await?;
        let token = guard.token();
        guard.release().await?;
        Outcome::Ok(token)
    };
    token().await?;
    // As the server raised it while its clock was ahead.
    let ahead = format!("epoch = UNIX_TIMESTAMP() + {AHEAD}");
    node.query(&format!(
        "UPDATE locks.dlock_epoch SET {ahead} WHERE id = 1"
    ))
    .await?;
    let lost = token().await?;
    node.query("UPDATE locks.dlock_epoch SET epoch = 0, boot = 0, base = 0")
        .await?;
    let smaller = token().await?;
    assert!(smaller < lost, "{lost:?}, then {smaller:?}");
    let time = lost.get() >> 20;
    until("the clock has come as far", async || {
        let sql = format!("SELECT UNIX_TIMESTAMP() > {time}");
        Ok(node.query(&sql).await?.concat() == ["1"])
    })
    .await?;
    // As it is half a minute later.
    node.query("UPDATE locks.dlock_epoch SET epoch = epoch - 1000 WHERE id = 1")
        .await?;
    grows(&mut Some(lost), token().await?);
    Ok(())
}

async fn they_grow_from_one_way_to_the_other(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (mut last, mut counting) = (None, None);
    for tokens in ["epoch", "committed"] {
        let locker = open(&format!("{}?token={tokens}", node.url()), TTL_LONG).await?;
        for _ in 0..3 {
            let guard = take(&locker, "a").await?;
            grows(&mut last, guard.token());
            guard.release().await?;
        }
        counting = Some(locker);
    }
    // Without its row nothing is counted, and nothing granted again.
    node.query("DELETE FROM locks.dlock_epoch WHERE id = 2")
        .await?;
    let locker = counting.ok_or("no locker")?;
    for _ in 0..2 {
        let error = locker.try_acquire("a").await.err().ok_or("granted")?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    }
    Ok(())
}

async fn a_server_that_has_just_started_grants_nothing(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    for _ in 0..2 {
        node.restart().await?;
        let guard = loop {
            match locker.try_acquire("a").await {
                Ok(guard) => break guard.ok_or("taken")?,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let uptime = node.query("SHOW GLOBAL STATUS LIKE 'Uptime'").await?;
        let uptime: u64 = uptime[0][1].parse()?;
        assert!(uptime >= 2, "granted after {uptime} s");
        guard.release().await?;
    }
    Ok(())
}

async fn the_epoch_is_raised_once_for_each_start(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let first = epoch(&node).await?;
    for _ in 0..5 {
        let locker = open(&node.url(), TTL_LONG).await?;
        take(&locker, "a").await?.release().await?;
    }
    assert_eq!(epoch(&node).await?, first);
    node.restart().await?;
    until_granting(&node).await?;
    assert!(epoch(&node).await? > first);
    Ok(())
}

/// Lockers that have read an epoch do not use it after another one was raised.
async fn t69_they_grow_while_epochs_are_used_up(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let first = epoch(&node).await?;
    let last = Arc::new(Mutex::new(None));
    let mut counting = JoinSet::new();
    for _ in 0..3 {
        let (locker, last) = (open(&node.url(), TTL_LONG).await?, last.clone());
        counting.spawn(async move {
            loop {
                let guard = take(&locker, "a").await?;
                grows(&mut *last.lock().await, guard.token());
                guard.release().await?;
            }
        });
    }
    let using_up = async {
        for round in 1..=USED_UP {
            node.query(&format!("DO BENCHMARK({SERIALS}, UUID_SHORT())"))
                .await?;
            until("the next one is raised", async || {
                Ok(epoch(&node).await? >= first + round)
            })
            .await?;
        }
        Outcome::Ok(())
    };
    tokio::select! {
        used_up = using_up => used_up,
        failed = counting.join_next() => failed.ok_or("no task counts")??,
    }
}

/// As it is half a minute after it was raised.
async fn an_epoch_that_is_behind_is_used_up_and_raised(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query("UPDATE locks.dlock_epoch SET epoch = epoch - 1000 WHERE id = 1")
        .await?;
    let behind = epoch(&node).await?;
    let serial =
        async || -> Outcome<u64> { Ok(node.query("SELECT UUID_SHORT()").await?[0][0].parse()?) };
    let locker = open(&node.url(), TTL_LONG).await?;
    let before = serial().await?;
    let mut last = None;
    for _ in 0..5 {
        let guard = take(&locker, "a").await?;
        grows(&mut last, guard.token());
        guard.release().await?;
        tokio::time::sleep(READ_MAX / 2).await;
    }
    assert!(epoch(&node).await? > behind + 900);
    assert!(serial().await? > before + SERIALS);
    Ok(())
}

async fn epoch(node: &Node) -> Outcome<u64> {
    let rows = node.query("SELECT epoch FROM locks.dlock_epoch").await?;
    Ok(rows[0][0].parse()?)
}

pub(crate) fn grows(last: &mut Option<Token>, token: Token) {
    assert!(Some(token) > *last, "{token} after {last:?}");
    *last = Some(token);
}
