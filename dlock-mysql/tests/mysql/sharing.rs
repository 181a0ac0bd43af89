//! Several at once, and what they may have (T60, T71, T72).

use std::{future::IntoFuture as _, pin::pin};

use dlock::ErrorKind;
use dlock_servers::mysql::Flavour;
use dlock_verify::{
    proxy::{Direction, Fault, Proxy},
    support::poll_times,
};
use sqlx::{Connection as _, MySqlConnection, raw_sql};
use tokio::task::JoinSet;

use crate::support::{Outcome, TTL_LONG, cases, open, sessions, soon, start, take, until};

cases![
    t60_a_name_that_is_new_to_all_is_granted_once,
    t71_each_lock_is_a_connection_up_to_held_max,
    t72_names_that_a_collation_takes_for_one_are_many,
    old_rows_can_be_cleared_at_any_time,
    nothing_is_left_after_a_shutdown,
    no_task_waits_for_one_that_is_not_polled,
    renewals_go_on_beside_one_that_is_not_polled,
    an_inspection_that_is_dropped_leaves_no_question,
];

/// The number of polls: more than a first try to lock a new name or to inspect has awaits.
const POLLS_MAX: u32 = 16;

async fn t60_a_name_that_is_new_to_all_is_granted_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut lockers = Vec::new();
    for _ in 0..8 {
        lockers.push(open(&node.url(), TTL_LONG).await?);
    }
    for round in 0..10 {
        let mut tries = JoinSet::new();
        for locker in &lockers {
            tries.spawn(locker.try_acquire(&*format!("new {round}")).into_future());
        }
        let mut guards = Vec::new();
        while let Some(tried) = tries.join_next().await {
            guards.extend(tried??);
        }
        assert_eq!(guards.len(), 1, "round {round}");
    }
    Ok(())
}

async fn t71_each_lock_is_a_connection_up_to_held_max(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&format!("{}?held_max=3", node.url()), TTL_LONG).await?;
    let mut guards = Vec::new();
    for name in ["a", "b", "c"] {
        guards.push(take(&locker, name).await?);
    }
    // One more for the tables, and one to monitor the others.
    until("all connections", async || {
        Ok(sessions(&node).await?.len() == 5)
    })
    .await?;
    let error = locker.acquire("d").await.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("held_max="), "{error}");
    for guard in guards.drain(..) {
        guard.release().await?;
    }
    take(&locker, "d").await?.release().await?;
    assert_eq!(sessions(&node).await?.len(), 5, "they are used again");
    Ok(())
}

async fn t72_names_that_a_collation_takes_for_one_are_many(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let mut guards = Vec::new();
    for name in ["a", "A", "a ", "ä", "a\u{308}", "%", "_", "'", "\\"] {
        let guard = locker.try_acquire(name).await?;
        guards.push(guard.ok_or_else(|| format!("{name:?} is taken for another"))?);
    }
    Ok(())
}

async fn old_rows_can_be_cleared_at_any_time(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let mut last = None;
    for _ in 0..5 {
        let guard = take(&locker, "a").await?;
        assert!(Some(guard.token()) > last);
        last = Some(guard.token());
        // What is held stays.
        let clear = "USE locks; DELETE old FROM (SELECT name FROM locks.dlock_locks LIMIT 1000 FOR UPDATE SKIP \
                     LOCKED) AS free STRAIGHT_JOIN locks.dlock_locks AS old ON old.name = free.name";
        node.query(clear).await?;
        assert!(guard.is_held());
        assert_eq!(
            node.query("SELECT name FROM locks.dlock_locks").await?,
            [["a"]]
        );
        guard.release().await?;
        node.query(clear).await?;
        assert!(
            node.query("SELECT name FROM locks.dlock_locks")
                .await?
                .is_empty()
        );
    }
    Ok(())
}

async fn nothing_is_left_after_a_shutdown(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let waiter = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    assert!(locker.inspect("a").await?.is_some());
    take(&locker, "b").await?.release().await?;
    soon("it ends", locker.shutdown(crate::support::SOON)).await??;
    assert!(soon("the waiter", waiter).await??.is_err());
    assert!(!held.is_held());
    until("no session", async || Ok(sessions(&node).await?.is_empty())).await?;
    assert!(
        node.query("SELECT * FROM locks.dlock_asked")
            .await?
            .is_empty()
    );
    Ok(())
}

/// K13: an acquire or an inspection that is not polled, as in a `select!` whose other branch takes long.
async fn no_task_waits_for_one_that_is_not_polled(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let held = take(&locker, "held").await?;
    for polls in 1..=POLLS_MAX {
        // It connects, and makes the row of its name.
        let mut left = pin!(locker.try_acquire(&*format!("left {polls}")).into_future());
        let _ = poll_times(left.as_mut(), polls).await;
        let mut inspecting = pin!(locker.inspect("held"));
        let _ = poll_times(inspecting.as_mut(), polls).await;
        let other = take(&locker, &format!("other {polls}")).await?;
        let holder = soon("it is inspected", locker.inspect("held")).await??;
        assert!(holder.is_some(), "after {polls} polls");
        other.release().await?;
    }
    assert!(held.is_held());
    Ok(())
}

async fn renewals_go_on_beside_one_that_is_not_polled(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    {
        proxy.set(Direction::ToClient, Fault::Hold);
        let mut left = pin!(held.renew());
        let early = poll_times(left.as_mut(), 1).await;
        assert!(early.is_none(), "answered without a reply: {early:?}");
        proxy.set(Direction::ToClient, Fault::None);
        soon("another renewal", held.renew()).await??;
        left.await?;
    }
    Ok(held.release().await?)
}

/// K12: an inspection sends its question as a row.
async fn an_inspection_that_is_dropped_leaves_no_question(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    // This session does not answer inspections.
    let mut foreign = MySqlConnection::connect(&node.url()).await?;
    let lock = "INSERT INTO dlock_locks VALUES ('a'); BEGIN; SELECT name FROM dlock_locks WHERE name = \
                'a' FOR UPDATE";
    raw_sql(lock).execute(&mut foreign).await?;
    let rows = async || {
        let rows = node.query("SELECT id FROM locks.dlock_asked").await?;
        Outcome::Ok(rows.len())
    };
    let asker = locker.clone();
    let inspecting = tokio::spawn(async move { asker.inspect("a").await });
    until("its question is there", async || Ok(rows().await? == 1)).await?;
    inspecting.abort();
    until("no question is left", async || Ok(rows().await? == 0)).await
}
