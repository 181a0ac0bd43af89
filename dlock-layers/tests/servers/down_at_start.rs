//! Two of five servers are down when a program starts (T84).

use dlock_servers::Program;

use crate::{
    servers::{Servers, until_taken},
    support::{Outcome, cases, take},
};

cases![t84_servers_that_are_down_at_the_start_take_part_later];

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
