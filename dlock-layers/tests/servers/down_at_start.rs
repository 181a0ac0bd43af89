//! Servers that are down or hang when a program starts (T84).

use std::time::Duration;

use dlock_core::Clock;
use dlock_servers::Program;

use crate::{
    servers::{Servers, until_taken},
    support::{Outcome, cases, take},
};

cases![
    t84_servers_that_are_down_at_the_start_take_part_later,
    t84_servers_that_hang_at_the_start_take_part_later,
];

/// A connection to a server that hangs is given up after this: a program does not wait for that.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

async fn t84_servers_that_are_down_at_the_start_take_part_later(program: Program) -> Outcome {
    let mut servers = Servers::start(&program, 5).await?;
    for down in [0, 3] {
        servers.0[down].kill()?;
    }
    let keys = "restart_guard=0s&ttl=3s";
    let (holder, other) = (servers.connect(keys).await?, servers.connect(keys).await?);
    let held = take(&holder, "a").await?;
    assert!(other.try_acquire("a").await?.is_none());
    for down in [0, 3] {
        servers.0[down].resume().await?;
        until_taken(&servers.0[down], "a").await?;
    }
    // Two others may go now: those that came later count.
    for down in [1, 4] {
        servers.0[down].kill()?;
    }
    held.renew().await?;
    assert!(other.try_acquire("a").await?.is_none());
    let before = held.token();
    held.release().await?;
    let guard = take(&other, "a").await?;
    assert!(guard.token() > before);
    guard.release().await?;
    for down in [1, 4] {
        servers.0[down].resume().await?;
    }
    servers.until_clean().await
}

async fn t84_servers_that_hang_at_the_start_take_part_later(program: Program) -> Outcome {
    let servers = Servers::start(&program, 5).await?;
    for hanging in [0, 3] {
        servers.0[hanging].stop()?;
    }
    let keys = format!(
        "restart_guard=0s&ttl=3s&connect_timeout={}s",
        CONNECT_TIMEOUT.as_secs()
    );
    let clock = Clock::boottime();
    let began = clock.now();
    let locker = servers.connect(&keys).await?;
    let held = take(&locker, "a").await?;
    let took = clock.now().since(began);
    assert!(took < CONNECT_TIMEOUT, "it waits for them: {took:?}");
    for hanging in [0, 3] {
        servers.0[hanging].cont()?;
        until_taken(&servers.0[hanging], "a").await?;
    }
    assert!(held.is_held());
    held.release().await?;
    servers.until_clean().await
}
