//! A new store whose answer comes late, also to an acquire that was cancelled.

use std::time::Duration;

use dlock_core::{
    Locker, Result,
    memory::{Fault, Operation},
};
use tokio::time::{sleep, timeout};

use crate::support::{Stores, Waiting};

const TTL: Duration = Duration::from_secs(30);

/// More than a timer may be late.
const MOMENT: Duration = Duration::from_millis(50);

/// A waiting acquire gives the old lock back after so long.
const SILENT: Duration = Duration::from_secs(1);

/// Stores of which the new one does not answer an acquire.
async fn hanging() -> Result<Stores> {
    let stores = Stores::started().await?;
    stores.new.inject(Operation::Acquire, Fault::Hang);
    Ok(stores)
}

/// The old lock is free `within` so long, and it was taken before.
async fn old_is_free(alone: &Locker, within: Duration) -> Result<()> {
    sleep(MOMENT).await;
    assert!(alone.try_acquire("a").await?.is_none());
    let Ok(granted) = timeout(within, alone.acquire("a").wait(TTL)).await else {
        panic!("it is not given back")
    };
    granted?.release().await
}

#[tokio::test(start_paused = true)]
async fn a_wait_gives_the_old_lock_back_before_the_answer() -> Result<()> {
    let stores = hanging().await?;
    let waiting = Waiting::start(&stores.both().await?, TTL);
    old_is_free(&stores.old_alone()?, SILENT + MOMENT).await?;
    assert!(!waiting.is_granted());
    stores.new.clear_faults();
    waiting.granted().await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_cancelled_gives_the_old_lock_back_before_the_answer() -> Result<()> {
    let stores = hanging().await?;
    let both = stores.both().await?;
    let cancelled = tokio::spawn(async move { both.acquire("a").wait(MOMENT * 2).await });
    old_is_free(&stores.old_alone()?, MOMENT * 3).await?;
    stores.new.clear_faults();
    let ended = cancelled.await.expect("no panic");
    ended.expect_err("no grant in time");
    sleep(SILENT).await;
    assert!(stores.are_empty());
    Ok(())
}
