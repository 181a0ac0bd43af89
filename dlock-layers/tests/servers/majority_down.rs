//! Two of three servers are down, and come back (T82).

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::Program;

use crate::{
    servers::{Servers, until_clean},
    support::{LATE, Outcome, cases, refused, soon, take, within},
};

cases![
    t82_without_a_majority_nothing_is_granted,
    t82_without_a_majority_a_lock_is_held_until_its_deadline,
];

const TTL: Duration = Duration::from_secs(3);

const SHORT: &str = "restart_guard=3s&ttl=3s";

async fn t82_without_a_majority_nothing_is_granted(program: Program) -> Outcome {
    let mut servers = Servers::start_known(&program, 3).await?;
    let locker = servers.connect(SHORT).await?;
    let guard = take(&locker, "a").await?;
    let before = guard.token();
    guard.release().await?;
    for down in [0, 2] {
        servers.0[down].kill()?;
    }
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let counts = "1 of 3 nodes answered, 2 are needed";
    assert!(error.to_string().contains(counts), "{error}");
    // What is too little is given back at once.
    until_clean(&servers.0[1]).await?;
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    for down in [0, 2] {
        servers.0[down].resume().await?;
    }
    let guard = soon("they are back", waiter).await???;
    assert!(guard.token() > before);
    guard.release().await?;
    servers.until_clean().await
}

async fn t82_without_a_majority_a_lock_is_held_until_its_deadline(program: Program) -> Outcome {
    let mut servers = Servers::start_known(&program, 3).await?;
    let holder = servers.connect(SHORT).await?;
    let other = servers.connect(SHORT).await?;
    let clock = Clock::boottime();
    let held = take(&holder, "a").await?;
    for down in [1, 2] {
        servers.0[down].kill()?;
    }
    let down = clock.now();
    let deadline = down.after(held.remaining());
    let cause = within(TTL + LATE, "it is lost", held.lost()).await?;
    let early = deadline.since(clock.now());
    assert!(early.is_zero(), "lost {early:?} before its deadline");
    assert_eq!(cause, LostCause::Expired);
    assert!(!held.is_held());
    for down in [1, 2] {
        servers.0[down].resume().await?;
    }
    let guard = soon("they are back", other.acquire("a")).await??;
    assert!(guard.token() > held.token());
    assert_eq!(refused(held.release().await)?.kind(), ErrorKind::Lost);
    guard.renew().await?;
    guard.release().await?;
    servers.until_clean().await
}
