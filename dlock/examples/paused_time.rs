//! How to test hours of waiting in no time: `memory:` follows tokio's clock, which a test can pause. In a test the first
//! line is `#[tokio::test(start_paused = true)]`; tokio's feature `test-util` has it.
//!
//! `cargo run -p dlock-rs --example paused_time`

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example that is a test"
)]

use std::{error::Error, time::Duration};

use dlock::{ErrorKind, Locker, LostCause};
use tokio::time::sleep;

/// Your code: one round of a job that takes an hour.
async fn work(locks: &Locker) -> dlock::Result<u64> {
    let guard = locks.acquire("nightly-report").wait(WAIT).await?;
    guard.run(sleep(HOUR)).await?;
    let token = guard.token().get();
    guard.release().await?;
    Ok(token)
}

const HOUR: Duration = Duration::from_secs(3_600);
const WAIT: Duration = Duration::from_secs(90 * 60);

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    it_is_held_for_the_whole_hour().await?;
    the_third_one_waits_too_long().await?;
    a_lock_that_is_not_renewed_ends().await?;
    println!("all tests pass");
    Ok(())
}

async fn it_is_held_for_the_whole_hour() -> Result<(), Box<dyn Error>> {
    let locks = dlock::connect("memory:?ttl=30s").await?;
    assert_eq!(work(&locks).await?, 1);
    println!("an hour has passed, and some hundred renewals");
    Ok(())
}

async fn the_third_one_waits_too_long() -> Result<(), Box<dyn Error>> {
    let locks = dlock::connect("memory:").await?;
    let (first, second, third) = tokio::join!(work(&locks), work(&locks), work(&locks));
    assert_eq!((first?, second?), (1, 2));
    let error = third.expect_err("two hours are before it");
    assert_eq!(error.kind(), ErrorKind::Contended);
    println!("after 90 minutes: {error}");
    Ok(())
}

async fn a_lock_that_is_not_renewed_ends() -> Result<(), Box<dyn Error>> {
    let locks = dlock::connect("memory:?ttl=30s").await?;
    let guard = locks.acquire("seat/14C").no_renewal().await?;
    tokio::time::advance(Duration::from_secs(29)).await;
    assert!(guard.is_held());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!guard.is_held());
    assert_eq!(guard.lost().await, LostCause::Expired);
    println!("a lock without renewals ends with its ttl");
    Ok(())
}
