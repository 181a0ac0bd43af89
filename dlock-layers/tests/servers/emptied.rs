//! A server is killed and restarts empty while a lock is held (T81).

use dlock_core::Clock;
use dlock_servers::Program;

use crate::{
    servers::{Servers, until_taken},
    support::{Outcome, cases, soon, take},
};

cases![
    t81_a_server_that_forgot_takes_part_again,
    t81_a_server_that_forgot_gives_no_second_lock,
];

/// A guard that a case can wait for.
const SHORT: &str = "restart_guard=3s&ttl=3s";

/// Each server forgets, one after the other: by then the others have it again.
async fn t81_a_server_that_forgot_takes_part_again(program: Program) -> Outcome {
    let mut servers = Servers::start_known(&program, 3).await?;
    let holder = servers.connect(SHORT).await?;
    let other = servers.connect(SHORT).await?;
    let held = take(&holder, "a").await?;
    let mut last = held.token();
    for number in 0..3 {
        let name = format!("other {number}");
        servers.0[number].restart().await?;
        assert!(other.try_acquire("a").await?.is_none());
        // The others go on.
        let guard = take(&other, &name).await?;
        assert!(guard.token() > last);
        last = guard.token();
        guard.release().await?;
        until_taken(&servers.0[number], "a").await?;
        assert!(other.try_acquire("a").await?.is_none());
        assert!(held.is_held());
    }
    // Two that have forgotten are enough to go on with it.
    servers.0[2].kill()?;
    held.renew().await?;
    assert!(held.is_held());
    held.release().await?;
    let next = take(&other, "a").await?;
    assert!(next.token() > last);
    next.release().await?;
    servers.0[2].resume().await?;
    servers.until_clean().await
}

/// The lock is in two servers; one of them forgets it, and the third one never had it.
async fn t81_a_server_that_forgot_gives_no_second_lock(program: Program) -> Outcome {
    let mut servers = Servers::start_known(&program, 3).await?;
    let holder = servers.connect(SHORT).await?;
    let other = servers.connect(SHORT).await?;
    let clock = Clock::boottime();
    servers.0[2].stop()?;
    let held = holder.acquire("a").no_renewal().await?;
    let deadline = clock.now().after(held.remaining());
    servers.0[0].restart().await?;
    // With the request of the holder, which it may not have dropped.
    servers.0[2].cont()?;
    let guard = soon("it is free", other.acquire("a")).await??;
    let early = deadline.since(clock.now());
    assert!(early.is_zero(), "granted {early:?} before the holder's end");
    assert!(!held.is_held(), "two hold it");
    assert!(guard.token() > held.token());
    guard.release().await?;
    servers.until_clean().await
}
