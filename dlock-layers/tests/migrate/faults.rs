//! A store that is silent, refuses or forgets, before the switch and after it.

use std::time::Duration;

use dlock_core::{
    Clock, ErrorKind, Locker, LostCause, Result,
    memory::{Fault, Operation},
};
use dlock_layers::migrate::MigrateLock;

use crate::support::{Stores, Waiting, refused};

const TTL: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn before_the_switch_both_stores_are_needed() -> Result<()> {
    for is_old in [true, false] {
        let stores = Stores::started().await?;
        let both = stores.both().await?;
        let down = if is_old { &stores.old } else { &stores.new };
        down.inject(Operation::Acquire, Fault::Stall);
        let silent = both.acquire("a").wait(TTL).await;
        assert_eq!(refused(silent, "not answer"), ErrorKind::Unavailable);
        down.clear_faults();
        both.acquire("a").await?.release().await?;
        assert!(stores.are_empty());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_the_switch_a_silent_old_store_is_passed_over() -> Result<()> {
    for fault in [Fault::Stall, Fault::LoseRequest] {
        let stores = Stores::started().await?;
        // Both programs know of no switch yet.
        let (first, second) = (stores.both().await?, stores.both().await?);
        stores.steps()?.switch().await?;
        for operation in [Operation::Acquire, Operation::Renew, Operation::Release] {
            stores.old.inject(operation, fault);
        }
        let guard = first.acquire("a").ttl(TTL).await?;
        assert!(second.try_acquire("a").await?.is_none());
        tokio::time::sleep(TTL * 3).await;
        assert!(guard.is_held());
        guard.release().await?;
        second.acquire("a").await?.release().await?;
        // What arrives late in the old store is released.
        stores.old.clear_faults();
        tokio::time::sleep(TTL * 2).await;
        assert!(stores.are_empty());
        second.acquire("a").await?.release().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_lost_in_one_store_is_lost() -> Result<()> {
    for is_old in [true, false] {
        let stores = Stores::started().await?;
        let both = stores.both().await?;
        let guard = both.acquire("a").await?;
        let store = if is_old { &stores.old } else { &stores.new };
        store.revoke("a");
        assert!(!guard.is_held());
        let lost = guard.release().await.expect_err("lost");
        assert_eq!(lost.lost_cause(), Some(LostCause::Removed));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(stores.are_empty());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_old_lock_is_kept_while_the_new_one_is_waited_for() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    // A program that ought not to be there makes the wait.
    let other = stores.new_alone()?;
    let guard = other.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(TTL * 3).await;
    assert!(stores.old_alone()?.try_acquire("a").await?.is_none());
    guard.release().await?;
    let guard = waiting.granted().await?;
    assert!(guard.remaining() > TTL * 9 / 10);
    guard.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_lock_that_is_lost_during_the_wait_is_taken_again() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let other = stores.new_alone()?;
    let guard = other.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(TTL).await;
    stores.old.revoke("a");
    tokio::time::sleep(TTL).await;
    assert!(stores.old_alone()?.try_acquire("a").await?.is_none());
    guard.release().await?;
    let guard = waiting.granted().await?;
    guard.renew().await?;
    guard.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

/// K5: another program was granted the lock in between, with a larger token.
#[tokio::test(start_paused = true)]
async fn an_old_lock_that_was_forgotten_during_a_short_wait_is_no_grant() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = stores.new_alone()?.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(TTL / 100).await;
    // No holder hears of it.
    stores.old.expire("a");
    let between = stores.old_alone()?.acquire("a").await?;
    let token = between.token();
    between.release().await?;
    guard.release().await?;
    let guard = waiting.granted().await?;
    assert!(guard.token() > token, "{} after {token}", guard.token());
    guard.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_is_no_grant() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    for store in [&stores.old, &stores.new] {
        store.inject(Operation::Migrate, Fault::LoseRequest);
    }
    assert_eq!(
        refused(both.try_acquire("a").await, "no answer"),
        ErrorKind::Unavailable
    );
    assert!(stores.are_empty());
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_granted());
    stores.new.clear_faults();
    waiting.granted().await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_migration_grants_nothing() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores.steps()?.cancel().await?;
    // Also one that would wait for ever.
    let over = both.acquire("a").wait_forever().await;
    assert_eq!(
        refused(over, "was cancelled: use redis://db-1 alone"),
        ErrorKind::InvalidConfig
    );
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_new_lock_does_not_eat_the_ttl_of_the_old_one() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = stores.new_alone()?.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    // Before the first renewal of a lock that is kept.
    tokio::time::sleep(TTL / 4).await;
    guard.release().await?;
    let left = waiting.granted().await?.remaining();
    assert!(left > TTL * 9 / 10, "{left:?}");
    Ok(())
}

/// K5: it may be another holder's by then, with a larger token.
#[tokio::test(start_paused = true)]
async fn an_old_lock_that_is_not_confirmed_is_no_grant() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = stores.new_alone()?.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(TTL / 100).await;
    stores.old.inject(Operation::Renew, Fault::LoseRequest);
    guard.release().await?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!waiting.is_granted());
    stores.old.clear_faults();
    waiting.granted().await?.release().await?;
    // After the switch that store does not count.
    stores.steps()?.switch().await?;
    stores.old.inject(Operation::Renew, Fault::Stall);
    both.acquire("a").await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_lost_while_the_record_is_read_is_taken_again() -> Result<()> {
    for is_old in [true, false] {
        let stores = Stores::started().await?;
        let both = stores.both_without_proof().await?;
        stores.new.inject(Operation::Migrate, Fault::Stall);
        let waiting = Waiting::start(&both, TTL);
        tokio::time::sleep(TTL / 10).await;
        let store = if is_old { &stores.old } else { &stores.new };
        store.revoke("a");
        stores.new.clear_faults();
        let guard = waiting.granted().await?;
        assert!(stores.old_alone()?.try_acquire("a").await?.is_none());
        assert!(stores.new_alone()?.try_acquire("a").await?.is_none());
        guard.release().await?;
        assert!(stores.are_empty());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_answers_is_waited_for_after_the_switch() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let _forgotten = stores.old_alone()?.acquire("a").await?;
    stores.steps()?.switch().await?;
    let taken = both.acquire("a").wait(TTL).await;
    assert_eq!(refused(taken, "another holder"), ErrorKind::Contended);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_silent_old_store_costs_one_wait_and_no_second_one() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    stores.old.inject(Operation::Acquire, Fault::Stall);
    let clock = Clock::pausable();
    let before = clock.now();
    both.acquire("a").await?.release().await?;
    assert!(clock.now().since(before) >= Duration::from_millis(500));
    let before = clock.now();
    both.acquire("a").await?.release().await?;
    assert!(clock.now().since(before) < Duration::from_millis(10));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_release_in_the_old_store_goes_on_after_the_switch() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    let guard = both.acquire("a").ttl(TTL).await?;
    stores.old.inject(Operation::Release, Fault::LoseRequest);
    guard.release().await?;
    stores.old.clear_faults();
    tokio::time::sleep(TTL / 2).await;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_record_of_another_migration_is_no_grant() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores.steps()?.cancel().await?;
    stores.steps()?.start().await?;
    let other = both.try_acquire("a").await;
    assert_eq!(refused(other, "is over: run"), ErrorKind::InvalidConfig);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_is_known_is_not_read_again() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    both.acquire("a").await?.release().await?;
    stores.new.inject(Operation::Migrate, Fault::LoseRequest);
    both.acquire("a").await?.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn programs_with_the_old_store_go_on_while_the_new_one_is_silent() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.new.inject(Operation::Acquire, Fault::Stall);
    let waiting = Waiting::start(&both, TTL);
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Not for as long as the other one waits.
    let guard = stores.old_alone()?.acquire("a").wait(TTL).await?;
    guard.release().await?;
    stores.new.clear_faults();
    waiting.granted().await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_loss_in_the_old_store_is_none_after_the_switch() -> Result<()> {
    for is_known in [true, false] {
        let stores = Stores::started().await?;
        let both = stores.both().await?;
        let guard = both.acquire("a").ttl(TTL).await?;
        stores.steps()?.switch().await?;
        if is_known {
            both.acquire("b").await?.release().await?;
            stores.old.revoke("a");
        } else {
            // The next renewal finds that it is gone.
            stores.old.expire("a");
        }
        tokio::time::sleep(TTL * 2).await;
        assert!(guard.is_held(), "{is_known}");
        guard.release().await?;
        assert!(stores.are_empty());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_refuses_is_passed_over_after_the_switch_only() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.old.inject(Operation::Acquire, Fault::Deny);
    let denied = both.acquire("a").await;
    assert_eq!(refused(denied, "refuses"), ErrorKind::Denied);
    stores.steps()?.switch().await?;
    both.acquire("a").await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_release_needs_no_old_store_after_the_switch() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = both.acquire("a").ttl(TTL).await?;
    stores.steps()?.switch().await?;
    stores.old.inject(Operation::Release, Fault::LoseRequest);
    guard.release().await?;
    stores.new_alone()?.acquire("a").await?.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_grant_of_the_old_store_does_not_wait_for_the_record() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.old.inject(Operation::Acquire, Fault::Stall);
    stores.new.inject(Operation::Migrate, Fault::Stall);
    let waiting = Waiting::start(&both, TTL);
    // Long enough for the old store to be silent, so that the record is read.
    tokio::time::sleep(Duration::from_secs(1)).await;
    stores.old.clear_faults();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stores.new.names().len(), 1, "the new lock is taken");
    stores.new.clear_faults();
    waiting.granted().await?.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

/// K2: a suspended machine. The old store still has the lock, but for this process it has ended.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_late_keeps_no_lock_during_the_wait() -> Result<()> {
    let stores = Stores::started().await?;
    let clock = Clock::pausable();
    let (old, new) = stores.sides();
    let both = Locker::builder(MigrateLock::open(old, new).await?)
        .clock(clock.clone())
        .build()?;
    let guard = stores.new_alone()?.acquire("a").await?;
    let waiting = Waiting::start(&both, TTL);
    let attempt = async || {
        let holder = stores.old_alone()?.inspect("a").await?;
        Result::<_>::Ok(holder.and_then(|holder| holder.attempt))
    };
    stores.old.inject(Operation::Renew, Fault::Stall);
    // Its first renewal is on the way.
    tokio::time::sleep(TTL / 3 + TTL / 10).await;
    let before = attempt().await?;
    assert!(before.is_some());
    // Past the deadline, but not past that of the late reply.
    clock.jump(TTL * 2 / 3);
    stores.old.clear_faults();
    tokio::time::sleep(TTL / 10).await;
    let after = attempt().await?;
    assert!(after.is_some() && after != before, "it is taken again");
    guard.release().await?;
    waiting.granted().await?.release().await?;
    Ok(())
}
