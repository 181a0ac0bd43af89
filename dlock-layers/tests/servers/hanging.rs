//! One of three servers hangs (T80).

use std::time::Duration;

use dlock_servers::Program;

use crate::{
    servers::Servers,
    support::{Outcome, TTL_LONG, cases, cycle, take},
};

cases![
    t80_a_server_that_hangs_costs_one_time_out,
    t80_a_server_that_hangs_costs_no_lock,
    t80_a_grant_of_a_server_that_hung_is_released,
];

/// So long that no busy machine takes it for anything else, and less than the time-out of a connection (2 s).
const NODE_TIMEOUT: Duration = Duration::from_millis(1500);

/// For several seconds: a silent node is probed once a second, and its connection is given up and replaced.
const CYCLES: u32 = 80;

async fn t80_a_server_that_hangs_costs_one_time_out(program: Program) -> Outcome {
    let servers = Servers::start(&program, 3).await?;
    let (ttl, timeout) = (TTL_LONG.as_secs(), NODE_TIMEOUT.as_millis());
    let keys = format!("restart_guard=0s&ttl={ttl}s&node_timeout={timeout}ms");
    let locker = servers.connect(&keys).await?;
    cycle(&locker).await?;
    servers.0[1].stop()?;
    let took = cycle(&locker).await?;
    assert!(took >= NODE_TIMEOUT, "the first one waits for it: {took:?}");
    for number in 0..CYCLES {
        let took = cycle(&locker).await?;
        assert!(took < NODE_TIMEOUT, "number {number} waits again: {took:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    servers.0[1].cont()?;
    servers.until_clean().await
}

async fn t80_a_server_that_hangs_costs_no_lock(program: Program) -> Outcome {
    const TTL: Duration = Duration::from_secs(3);
    let servers = Servers::start(&program, 3).await?;
    for hanging in &servers.0 {
        let keys = "restart_guard=0s&ttl=3s";
        let (locker, other) = (servers.connect(keys).await?, servers.connect(keys).await?);
        let before = take(&locker, "before").await?;
        hanging.stop()?;
        let after = take(&locker, "after").await?;
        assert!(after.token() > before.token());
        // Several renewals.
        let lost = async { tokio::join!(before.lost(), after.lost()) };
        let lost = tokio::time::timeout(3 * TTL, lost).await;
        assert!(lost.is_err(), "{lost:?}");
        assert!(before.is_held() && after.is_held());
        for guard in [before, after] {
            assert!(other.try_acquire(guard.name()).await?.is_none());
            let token = guard.token();
            guard.release().await?;
            let next = take(&other, "next").await?;
            assert!(next.token() > token);
            next.release().await?;
        }
        hanging.cont()?;
        servers.until_clean().await?;
    }
    Ok(())
}

/// The request is executed when the server goes on, before its client has given up the connection.
async fn t80_a_grant_of_a_server_that_hung_is_released(program: Program) -> Outcome {
    let servers = Servers::start(&program, 3).await?;
    let ttl = TTL_LONG.as_secs();
    let keys = format!("restart_guard=0s&ttl={ttl}s&timeout=30s");
    let locker = servers.connect(&keys).await?;
    cycle(&locker).await?;
    for hanging in &servers.0 {
        hanging.stop()?;
        let held = take(&locker, "a").await?;
        hanging.cont()?;
        held.release().await?;
        servers.until_clean().await?;
    }
    Ok(())
}
