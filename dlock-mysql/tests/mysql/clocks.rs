//! The server's clock is set while it runs, and between two starts (T69).
//!
//! Its clock is libfaketime's; without that library these cases are ignored.

use std::time::Duration;

use dlock_servers::{
    SetClock,
    mysql::{Flavour, Node, Options},
};
use dlock_verify::support::refused;

use crate::{
    guard::CutOff,
    support::{
        Outcome, TTL_LONG, cases, open, open_with, start_with, take, until, until_granting, within,
    },
    tokens::grows,
};

cases![
    t69_tokens_grow_over_starts_for_any_clock,
    t69_a_clock_that_is_set_while_the_server_runs_does_not_matter,
    a_clock_that_is_set_during_a_wait_ends_no_guard,
    a_clock_that_is_set_before_the_first_check_ends_no_guard,
];

const HOUR: i64 = 3_600;

/// The resolution of the server's clock: it is read in whole seconds.
const NEXT_SECOND: Duration = Duration::from_secs(1);

/// A server that is awake for longer than a step of its clock takes.
const SLACK: Duration = Duration::from_secs(60);

async fn t69_tokens_grow_over_starts_for_any_clock(flavour: Flavour) -> Outcome {
    let (mut node, clock) = start_with_clock(flavour).await?;
    let mut last = None;
    // Back, forward, far back, and to what it was before.
    for offset in [-HOUR, HOUR, -1_000 * HOUR, 0] {
        let locker = open(&node.url(), TTL_LONG).await?;
        for _ in 0..3 {
            let guard = take(&locker, "a").await?;
            grows(&mut last, guard.token());
            guard.release().await?;
        }
        node.kill()?;
        clock.set(offset)?;
        node.resume().await?;
        until_granting(&node).await?;
        is_off(&node, offset).await?;
        // Both a client that was there before and one that comes now.
        for locker in [locker, open(&node.url(), TTL_LONG).await?] {
            let guard = take(&locker, "a").await?;
            grows(&mut last, guard.token());
            guard.release().await?;
        }
    }
    Ok(())
}

async fn t69_a_clock_that_is_set_while_the_server_runs_does_not_matter(
    flavour: Flavour,
) -> Outcome {
    let (node, clock) = start_with_clock(flavour).await?;
    let before = open(&node.url(), TTL_LONG).await?;
    let held = take(&before, "held").await?;
    let mut last = None;
    // The first is before its start, so it seems to have been started in the future.
    for offset in [-HOUR, HOUR, 0] {
        clock.set(offset)?;
        is_off(&node, offset).await?;
        for locker in [&before, &open(&node.url(), TTL_LONG).await?] {
            for name in ["a", "new"] {
                let guard = take(locker, name).await?;
                grows(&mut last, guard.token());
                guard.renew().await?;
                guard.release().await?;
            }
            assert!(locker.inspect("held").await?.is_some());
        }
        held.renew().await?;
    }
    Ok(())
}

async fn a_clock_that_is_set_during_a_wait_ends_no_guard(flavour: Flavour) -> Outcome {
    let (mut node, clock) = start_with_clock(flavour).await?;
    let ttl = Duration::from_secs(12);
    let cut_off = CutOff::holding(&node, "ttl=12s").await?;
    node.kill()?;
    node.resume().await?;
    let other = open_with(&node.url(), "ttl=12s").await?;
    until("it has seen the guard", async || {
        let error = refused(other.try_acquire("x").await)?;
        Ok(error.to_string().contains("restart_guard="))
    })
    .await?;
    clock.set(HOUR)?;
    is_off(&node, HOUR).await?;
    let guard = cut_off.followed_by(&other, ttl + NEXT_SECOND).await?;
    guard.release().await?;
    // One that is set back behind the start delays no grant for longer.
    node.restart().await?;
    clock.set(-HOUR)?;
    is_off(&node, -HOUR).await?;
    let waiting = other.acquire("x").wait(ttl * 2);
    let guard = within(ttl * 2, "the guard is over", waiting).await??;
    Ok(guard.release().await?)
}

/// The guard begins when the first client connects, not with a start that the server shows.
async fn a_clock_that_is_set_before_the_first_check_ends_no_guard(flavour: Flavour) -> Outcome {
    let (mut node, clock) = start_with_clock(flavour).await?;
    let ttl = Duration::from_secs(12);
    let cut_off = CutOff::holding(&node, "ttl=12s").await?;
    node.kill()?;
    node.resume().await?;
    clock.set(HOUR)?;
    is_off(&node, HOUR).await?;
    let other = open_with(&node.url(), "ttl=12s").await?;
    let guard = cut_off.followed_by(&other, ttl + NEXT_SECOND).await?;
    Ok(guard.release().await?)
}

async fn start_with_clock(flavour: Flavour) -> Outcome<(Node, SetClock)> {
    let clock = SetClock::new()?;
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    Ok((start_with(flavour, &options).await?, clock))
}

/// Waits until its clock shows so many seconds more than the true time.
async fn is_off(node: &Node, offset: i64) -> Outcome {
    let slack = i64::try_from(SLACK.as_secs())?;
    until(format!("its clock is off by {offset} s"), async || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
        let rows = node.query("SELECT UNIX_TIMESTAMP()").await?;
        let shown: i64 = rows[0][0].parse()?;
        Ok((shown - i64::try_from(now)? - offset).abs() < slack)
    })
    .await
}
