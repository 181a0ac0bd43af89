//! A waiter gets the lock when it is free, also with a server that is down or hangs (T85).

use std::time::Duration;

use dlock::Locker;
use dlock_servers::{Program, redis::Node};
use dlock_verify::support::hold_and_die;

use crate::{
    servers::Servers,
    support::{LATE, Outcome, TTL_LONG, cases, soon, take, until, within},
};

cases![
    t85_a_release_wakes_a_waiter_with_a_server_down,
    t85_a_release_wakes_a_waiter_with_a_server_that_hangs,
    t85_a_waiter_passes_over_a_server_that_hangs_under_it,
    t85_the_lock_of_a_dead_holder_is_free_with_a_server_down,
];

/// The waiter checks the connection on which it listens so often before the release: once a second.
const PINGS: u64 = 3;

async fn t85_a_release_wakes_a_waiter_with_a_server_down(program: Program) -> Outcome {
    for down in 0..3 {
        let mut servers = Servers::start(&program, 3).await?;
        servers.0[down].kill()?;
        hand_over(&servers, usize::from(down == 0)).await?;
        servers.0[down].resume().await?;
        servers.until_clean().await?;
    }
    Ok(())
}

async fn t85_a_release_wakes_a_waiter_with_a_server_that_hangs(program: Program) -> Outcome {
    for hanging in 0..3 {
        let servers = Servers::start(&program, 3).await?;
        let keys = keys();
        let (holder, waiter) = (servers.connect(&keys).await?, servers.connect(&keys).await?);
        servers.0[hanging].stop()?;
        let at = &servers.0[usize::from(hanging == 0)];
        hand_over_between(&holder, &waiter, at).await?;
        servers.0[hanging].cont()?;
        servers.until_clean().await?;
    }
    Ok(())
}

/// The waiter listens at the first server, which then says nothing any more.
async fn t85_a_waiter_passes_over_a_server_that_hangs_under_it(program: Program) -> Outcome {
    let servers = Servers::start(&program, 3).await?;
    let keys = keys();
    let (holder, waiter) = (servers.connect(&keys).await?, servers.connect(&keys).await?);
    let held = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_listener(&servers.0[0]).await?;
    servers.0[0].stop()?;
    let before = held.token();
    held.release().await?;
    let guard = soon("the others are enough", waiting).await???;
    assert!(guard.token() > before);
    guard.release().await?;
    servers.0[0].cont()?;
    servers.until_clean().await
}

async fn t85_the_lock_of_a_dead_holder_is_free_with_a_server_down(program: Program) -> Outcome {
    const TTL: Duration = Duration::from_secs(2);
    for down in 0..3 {
        let mut servers = Servers::start(&program, 3).await?;
        servers.0[down].kill()?;
        let url = servers.url("restart_guard=0s&ttl=2s");
        let waiter = dlock::connect(url.as_str()).await?;
        let connect = async move { Ok(dlock::connect(url.as_str()).await?) };
        hold_and_die(connect, "a").await?;
        let most = TTL + waiter.capabilities().takeover_max + LATE;
        let guard = within(most, "its ttl is over", waiter.acquire("a")).await??;
        guard.release().await?;
        servers.0[down].resume().await?;
        servers.until_clean().await?;
    }
    Ok(())
}

fn keys() -> String {
    format!("restart_guard=0s&ttl={}s", TTL_LONG.as_secs())
}

/// Hands a lock over; the waiter waits at the server number `at`.
async fn hand_over(servers: &Servers, at: usize) -> Outcome {
    let keys = keys();
    let (holder, waiter) = (servers.connect(&keys).await?, servers.connect(&keys).await?);
    hand_over_between(&holder, &waiter, &servers.0[at]).await
}

/// A waiter sends nothing for the lock while it waits: only a message ends its wait.
async fn hand_over_between(holder: &Locker, waiter: &Locker, at: &Node) -> Outcome {
    let held = take(holder, "a").await?;
    let before = held.token();
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_listener(at).await?;
    let (scripts, pings) = (calls(at, "evalsha").await?, calls(at, "ping").await?);
    until("it listens", async || {
        Ok(calls(at, "ping").await? >= pings + PINGS)
    })
    .await?;
    assert_eq!(calls(at, "evalsha").await?, scripts, "it polls");
    held.release().await?;
    let guard = soon("it is handed over", waiting).await???;
    assert!(guard.token() > before);
    assert!(guard.remaining() > TTL_LONG * 9 / 10, "a wait eats no ttl");
    guard.release().await?;
    Ok(())
}

/// Waits until a client listens for the release of `a`.
async fn until_listener(node: &Node) -> Outcome {
    until("a waiter listens", async || {
        let channel = ["PUBSUB", "NUMSUB", "{dlock:a}:free"];
        let reply = node.command(&channel).await?;
        Ok(reply.array()?.pop().ok_or("no count")?.int()? == 1)
    })
    .await
}

/// How often a server was sent this command.
async fn calls(node: &Node, command: &str) -> Outcome<u64> {
    let all = node.command(&["INFO", "commandstats"]).await?.text()?;
    let field = format!("cmdstat_{command}:calls=");
    let mut lines = all.lines().filter_map(|line| line.strip_prefix(&field));
    match lines.next().and_then(|line| line.split_once(',')) {
        Some((calls, _)) => Ok(calls.parse()?),
        // A server lists only what it was sent.
        None => Ok(0),
    }
}
