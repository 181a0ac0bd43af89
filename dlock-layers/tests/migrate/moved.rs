//! Programs that use the old store alone while its locks move (K1).

use std::time::Duration;

use dlock_core::{
    ErrorKind, Guard, Locker, LostCause, Result,
    backend::{DistributedLock as _, Migration},
    config::Config,
    memory::{Fault, Operation},
};
use tokio::time::{sleep, timeout};

use crate::support::{Stores, refused, registry};

/// Longer than the whole move.
const TTL: Duration = Duration::from_secs(3600);

/// A program reads the record as often as this.
const READ_EVERY: Duration = Duration::from_secs(10);

/// After this a program in use has read the record once more.
const READ: Duration = Duration::from_secs(11);

async fn connect(stores: &Stores) -> Result<Locker> {
    registry(stores).connect(&Config::from_url("old:")?).await
}

async fn hold(locks: &Locker) -> Result<Guard> {
    locks.acquire("a").ttl(TTL).await
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_lost_before_the_new_store_grants() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.steps()?.start().await?;
    sleep(READ_EVERY * 2).await;
    assert!(guard.is_held(), "the locks of the old store count");

    let clock = stores.old.clock();
    let closed = clock.now();
    let steps = stores.steps()?;
    let closing = steps.close().await?;
    let wait = closing.wait();
    assert_eq!(wait, Migration::CLOSE_WAIT);
    // No more grants from the next reading on; the holder has time to end its work.
    sleep(READ).await;
    let early = locks.try_acquire("b").await;
    assert_eq!(
        refused(early, "closed to processes"),
        ErrorKind::InvalidConfig
    );
    assert!(guard.is_held());
    assert!(guard.remaining() >= Migration::READ_VALID - READ * 2);
    let grace = Duration::from_secs(5);
    guard.expires_within(grace).await;
    assert!(guard.is_held() && guard.remaining() <= grace);
    assert_eq!(guard.lost().await, LostCause::Moved);
    assert!(clock.now().since(closed) < wait);
    assert!(!guard.is_held());
    sleep(wait).await;
    steps.switch_closed(&closing).await?;
    assert_eq!(steps.close().await?.wait(), Duration::ZERO);

    assert!(stores.are_empty(), "the lost lock is released");
    let late = hold(&locks).await;
    assert_eq!(
        refused(late, "have moved to etcd://etcd-1"),
        ErrorKind::InvalidConfig
    );
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_program_that_was_idle_is_refused() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    hold(&locks).await?.release().await?;
    sleep(TTL).await;
    stores.steps()?.start().await?;
    stores.steps()?.switch().await?;
    let late = locks.try_acquire("a").await;
    assert_eq!(
        refused(late, "have moved to etcd://etcd-1"),
        ErrorKind::InvalidConfig
    );
    sleep(READ_EVERY).await;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_refused_when_its_turn_comes() -> Result<()> {
    let stores = Stores::new();
    let (first, second) = (connect(&stores).await?, connect(&stores).await?);
    let guard = hold(&first).await?;
    let waiting = tokio::spawn(async move { second.acquire("a").wait(TTL).await });
    sleep(READ_EVERY * 6).await;
    stores.steps()?.start().await?;
    stores.steps()?.close().await?;
    assert_eq!(guard.lost().await, LostCause::Moved);
    let granted = waiting.await.expect("no panic");
    assert_eq!(
        refused(granted, "closed to processes"),
        ErrorKind::InvalidConfig
    );
    sleep(READ_EVERY).await;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_migration_opens_the_store_again() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    stores.steps()?.start().await?;
    stores.steps()?.close().await?;
    sleep(Migration::READ_VALID).await;
    assert!(hold(&locks).await.is_err());
    stores.steps()?.cancel().await?;
    sleep(READ).await;
    let guard = hold(&locks).await?;
    sleep(READ_EVERY * 6).await;
    assert!(guard.is_held());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_outlives_a_move_that_is_cancelled_in_time() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.steps()?.start().await?;
    sleep(READ).await;
    stores.steps()?.close().await?;
    sleep(READ).await;
    assert!(locks.try_acquire("b").await.is_err());
    stores.steps()?.cancel().await?;
    sleep(READ).await;
    assert_eq!(guard.remaining().min(TTL / 2), TTL / 2);
    sleep(Migration::CLOSE_WAIT).await;
    assert!(guard.is_held());
    hold(&locks).await.expect_err("it is held");
    locks.acquire("b").await?.release().await?;
    guard.release().await
}

#[tokio::test(start_paused = true)]
async fn no_end_is_near_while_the_old_store_counts() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.steps()?.start().await?;
    for grace in [20, 25, 29].map(Duration::from_secs) {
        let warned = timeout(READ_EVERY * 6, guard.expires_within(grace)).await;
        assert!(warned.is_err(), "{grace:?}");
    }
    // Not read for a moment: the end comes near.
    stores.old.inject(Operation::Migrate, Fault::LoseRequest);
    let warned = timeout(READ_EVERY * 2, guard.expires_within(READ_EVERY * 2));
    assert!(warned.await.is_ok() && guard.is_held());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_an_earlier_end_sees_the_move() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    let grace = Duration::from_secs(5);
    let warned = tokio::spawn(guard.expires_within(grace));
    stores.steps()?.start().await?;
    sleep(READ).await;
    stores.steps()?.close().await?;
    warned.await.expect("no panic");
    assert!(guard.is_held() && guard.remaining() > grace - Duration::from_secs(1));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn without_a_migration_the_record_need_not_be_readable() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall] {
        let stores = Stores::new();
        let locks = connect(&stores).await?;
        let guard = hold(&locks).await?;
        stores.old.inject(Operation::Migrate, fault);
        sleep(READ_EVERY * 12).await;
        assert!(guard.is_held());
        guard.release().await?;
        sleep(READ_EVERY * 12).await;
        hold(&locks).await?.release().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn during_a_migration_an_unreadable_record_ends_the_locks() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall] {
        let stores = Stores::new();
        let locks = connect(&stores).await?;
        let guard = hold(&locks).await?;
        stores.steps()?.start().await?;
        sleep(READ).await;
        let clock = stores.old.clock();
        let read = clock.now();
        stores.old.inject(Operation::Migrate, fault);
        assert!(guard.remaining() <= Migration::READ_VALID);
        assert_eq!(guard.lost().await, LostCause::Expired);
        assert!(clock.now().since(read) <= Migration::READ_VALID);
        let unread = hold(&locks).await;
        assert_eq!(refused(unread, "cannot be read"), ErrorKind::Unavailable);
        stores.old.clear_faults();
        sleep(READ).await;
        assert!(stores.are_empty());
        assert!(hold(&locks).await?.is_held());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_suspended_program_holds_no_longer_when_it_goes_on() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.steps()?.start().await?;
    sleep(READ).await;
    // Nothing runs between the end of the suspension and the question.
    stores.old.clock().jump(Migration::READ_VALID);
    assert!(!guard.is_held());
    assert!(guard.release().await.is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_granted_between_two_readings_loses_its_lock() -> Result<()> {
    let stores = Stores::new();
    let (first, second) = (connect(&stores).await?, connect(&stores).await?);
    let held = hold(&first).await?;
    let waiting = tokio::spawn(async move { second.acquire("a").ttl(TTL).wait(TTL).await });
    // The waiter has not read the record for a while, and need not yet.
    sleep(Migration::READ_VALID - READ_EVERY / 2).await;
    held.release().await?;
    let guard = waiting.await.expect("no panic")?;
    stores.steps()?.start().await?;
    stores.steps()?.close().await?;
    let lost = timeout(Migration::CLOSE_WAIT, guard.lost()).await;
    assert_eq!(lost.expect("in time"), LostCause::Moved);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_record_that_may_not_be_read_any_more_ends_the_locks() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.old.inject(Operation::Migrate, Fault::Deny);
    let clock = stores.old.clock();
    let denied = clock.now();
    assert_eq!(guard.lost().await, LostCause::Expired);
    assert!(clock.now().since(denied) <= Migration::READ_VALID);
    assert!(hold(&locks).await.is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_reading_that_hangs_delays_no_grant_without_a_migration() -> Result<()> {
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    hold(&locks).await?.release().await?;
    stores.old.inject(Operation::Migrate, Fault::Stall);
    sleep(Migration::READ_VALID).await;
    hold(&locks).await?.release().await?;
    // Once the first reading has failed.
    let clock = stores.old.clock();
    for _ in 0..60 {
        let begun = clock.now();
        hold(&locks).await?.release().await?;
        assert_eq!(clock.now(), begun);
        sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_reading_counts_from_when_it_was_sent() -> Result<()> {
    const SILENCE: Duration = Duration::from_secs(4);
    let stores = Stores::new();
    let locks = connect(&stores).await?;
    let guard = hold(&locks).await?;
    stores.steps()?.start().await?;
    sleep(READ).await;
    // The next reading is sent in the meantime, and its answer comes at the end.
    stores.old.inject(Operation::Migrate, Fault::Stall);
    let clock = stores.old.clock();
    let next = clock.now().after(READ_EVERY - Duration::from_secs(1));
    sleep(next.since(clock.now()) + SILENCE).await;
    stores.old.clear_faults();
    sleep(Duration::from_millis(1)).await;
    assert!(
        guard.remaining() > Migration::READ_VALID - READ_EVERY,
        "it was answered"
    );
    assert!(guard.remaining() <= Migration::READ_VALID - SILENCE);
    Ok(())
}
