//! Cancelled acquires (K7).

use std::time::Duration;

use dlock::Locker;
use dlock_servers::Program;
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{
    Outcome, RACES, SOON, cases, connect, drop_after_polls, soon, start, take, until_clean,
    until_listeners, warm_up, within,
};

cases![
    t02_an_acquire_dropped_at_any_poll_leaves_nothing,
    t02_an_acquire_dropped_at_any_time_leaves_nothing,
    t02_a_wait_dropped_at_any_time_leaves_nothing,
    t02_a_dropped_wait_leaves_its_successor_the_subscription,
    t02_a_successor_that_need_not_wait_ends_the_subscription,
    t02_many_dropped_waits_end_soon_while_the_server_is_silent,
];

/// The number of polls: more than an acquire has.
const POLLS: u32 = 8;

/// A wait for a lock that stays taken has fewer polls than that, and then sleeps.
const SLEEPS: Duration = Duration::from_millis(100);

async fn t02_an_acquire_dropped_at_any_poll_leaves_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let (locker, other) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let mut whole = 0;
    for round in 0..RACES {
        let polls = round % POLLS;
        if let Some(guard) = drop_after_polls(locker.acquire("a"), polls).await {
            whole += 1;
            drop(guard?);
        }
        let held = take_in_turn(&other).await?;
        let dropped = drop_after_polls(locker.acquire("a"), polls);
        let dropped = tokio::time::timeout(SLEEPS, dropped).await;
        assert!(!matches!(dropped, Ok(Some(_))), "it is taken");
        held.release().await?;
    }
    assert!((1..RACES).contains(&whole), "{whole} were not dropped");
    until_clean(&node).await
}

/// The lock, as soon as what was dropped is undone.
async fn take_in_turn(locker: &Locker) -> Outcome<dlock::Guard> {
    Ok(soon("it is free again", locker.acquire("a")).await??)
}

async fn t02_an_acquire_dropped_at_any_time_leaves_nothing(program: Program) -> Outcome {
    // So slow that each phase of an acquire takes some of the drops.
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "").await?;
    warm_up(&locker).await?;
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::Delay(Duration::from_millis(3)));
    }
    for round in 0..RACES {
        let after = Duration::from_micros(u64::from(round) * 200);
        let acquired = tokio::time::timeout(after, locker.acquire("a")).await;
        drop(acquired);
        until_clean(&node).await?;
    }
    locker.shutdown(SOON).await?;
    until_clean(&node).await
}

async fn t02_a_wait_dropped_at_any_time_leaves_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let other = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::Delay(Duration::from_millis(3)));
    }
    for round in 0..RACES {
        let held = take_in_turn(&other).await?;
        let after = Duration::from_micros(u64::from(round) * 600);
        // Around the moment at which it is released, it is both woken and dropped.
        let release = async {
            tokio::time::sleep(Duration::from_millis(18)).await;
            held.release().await
        };
        let acquire = tokio::time::timeout(after, locker.acquire("a"));
        let (acquired, released) = tokio::join!(acquire, release);
        drop(acquired);
        released?;
        until_clean(&node).await?;
    }
    locker.shutdown(SOON).await?;
    until_clean(&node).await
}

async fn t02_a_dropped_wait_leaves_its_successor_the_subscription(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let other = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    for round in 0..RACES {
        let held = take_in_turn(&other).await?;
        let first = tokio::spawn(locker.acquire("a").into_future());
        until_listeners(&node, "a", 1).await?;
        first.abort();
        let second = tokio::spawn(locker.acquire("a").into_future());
        // Long enough in some rounds for the first one's clean-up, too short in others.
        tokio::time::sleep(Duration::from_micros(u64::from(round) * 100)).await;
        held.release().await?;
        let guard = within(Duration::from_secs(5), "the second one is woken", second).await???;
        guard.release().await?;
    }
    until_clean(&node).await
}

/// One subscribed and has gone, and the other one is granted at once: neither may leave it behind.
async fn t02_a_successor_that_need_not_wait_ends_the_subscription(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let other = connect(node.address(), "").await?;
    let locker = connect(node.address(), "").await?;
    for _ in 0..RACES {
        let held = take(&other, "a").await?;
        let first = tokio::spawn(locker.acquire("a").into_future());
        until_listeners(&node, "a", 1).await?;
        held.release().await?;
        let second = locker.acquire("a");
        first.abort();
        // If it was granted already, that goes with it.
        drop(first);
        soon("it is granted", second).await??.release().await?;
        until_clean(&node).await?;
    }
    Ok(())
}

async fn t02_many_dropped_waits_end_soon_while_the_server_is_silent(program: Program) -> Outcome {
    const WAITS: usize = 40;
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let other = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "connect_timeout=1s&timeout=1s").await?;
    let names: Vec<_> = (0..WAITS).map(|number| number.to_string()).collect();
    let mut held = Vec::new();
    for name in &names {
        held.push(take(&other, name).await?);
    }
    // Soon after one another: a waiter tries again each second, and a try without an answer has to be undone.
    let waits: Vec<_> = names
        .iter()
        .map(|name| tokio::spawn(locker.acquire(name).into_future()))
        .collect();
    for name in &names {
        until_listeners(&node, name, 1).await?;
    }
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::Hold);
    }
    for wait in waits {
        wait.abort();
    }
    // It ends when all that was dropped has ended: one after the other would take 40 s.
    locker.shutdown(Duration::from_secs(10)).await?;
    Ok(())
}
