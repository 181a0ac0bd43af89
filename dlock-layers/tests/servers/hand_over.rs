//! A release hands the lock to a waiter while one server is down (T85).

use std::time::Duration;

use dlock_servers::{Program, redis::Node};

use crate::{
    servers::Servers,
    support::{Outcome, TTL_LONG, cases, soon, take, until},
};

cases![t85_a_release_wakes_a_waiter_with_a_server_down];

/// The waiter tries the server after the one that it waits at so often before the release.
const TRIES: u64 = 3;

/// A waiter waits at the first server that is up, and sends it nothing meanwhile: only a message ends its wait.
async fn t85_a_release_wakes_a_waiter_with_a_server_down(program: Program) -> Outcome {
    for down in 0..3 {
        let mut servers = Servers::start(&program, 3).await?;
        let keys = format!("restart_guard=0s&ttl={}s", TTL_LONG.as_secs());
        let holder = servers.connect(&keys).await?;
        let waiter = servers.connect(&keys).await?;
        servers.0[down].kill()?;
        let held = take(&holder, "a").await?;
        let before = held.token();
        let waiting = tokio::spawn(waiter.acquire("a").into_future());
        let up: Vec<_> = (0..3).filter(|number| *number != down).collect();
        let (first, second) = (&servers.0[up[0]], &servers.0[up[1]]);
        until_listeners(first, 1).await?;
        let (calls_first, calls_second) = (calls(first).await?, calls(second).await?);
        until("it tries the other server", async || {
            Ok(calls(second).await? >= calls_second + TRIES)
        })
        .await?;
        assert_eq!(calls(first).await?, calls_first, "it polls");
        held.release().await?;
        let guard = soon("it is handed over", waiting).await???;
        assert!(guard.token() > before);
        assert!(guard.remaining() > TTL_LONG - Duration::from_secs(10));
        guard.release().await?;
        servers.0[down].resume().await?;
        servers.until_clean().await?;
    }
    Ok(())
}

/// Waits until so many clients listen for the release of `a`.
async fn until_listeners(node: &Node, count: i64) -> Outcome {
    until(format!("{count} listen"), async || {
        let reply = node
            .command(&["PUBSUB", "NUMSUB", "{dlock:a}:free"])
            .await?;
        let count_now = reply.array()?.pop().ok_or("no count")?.int()?;
        Ok(count_now == count)
    })
    .await
}

/// How many scripts a server has run.
async fn calls(node: &Node) -> Outcome<u64> {
    let line = node.info("cmdstat_evalsha").await?;
    let calls = line
        .strip_prefix("calls=")
        .and_then(|line| line.split_once(','));
    Ok(calls.ok_or("no calls")?.0.parse()?)
}
