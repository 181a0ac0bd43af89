//! A new store that is down for a time, before the switch and after it.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Guard, Locker, LostCause, Result,
    backend::Migration,
    memory::{Fault, Operation},
};
use tokio::time::{sleep, timeout};

use crate::support::{Stores, TOKEN_BASE, Waiting, refused};

const TTL: Duration = Duration::from_secs(10);

/// More than a timer may be late.
const MOMENT: Duration = Duration::from_millis(5);

/// How an operation fails, and the kind of that error.
const FAULTS: [(Fault, ErrorKind); 3] = [
    (Fault::LoseRequest, ErrorKind::Unavailable),
    (Fault::Stall, ErrorKind::Unavailable),
    (Fault::Deny, ErrorKind::Denied),
];

/// The faults of a store that may execute a request as well.
const FAULTS_OF_HELD: [Fault; 4] = [
    Fault::LoseRequest,
    Fault::LoseReply,
    Fault::Stall,
    Fault::Deny,
];

/// All operations of the new store have this fault from now on.
fn fail(stores: &Stores, fault: Fault) {
    for operation in [
        Operation::Acquire,
        Operation::Renew,
        Operation::Release,
        Operation::Inspect,
        Operation::Migrate,
    ] {
        stores.new.inject(operation, fault);
    }
}

/// The guard is held up to its deadline, and no longer (K2, K8).
async fn is_lost_at_its_deadline(guard: &Guard) {
    let left = guard.remaining();
    assert!(left > TTL / 2, "{left:?}");
    sleep(left - MOMENT).await;
    assert!(guard.is_held());
    let cause = timeout(MOMENT * 2, guard.lost()).await.ok();
    assert_eq!(cause, Some(LostCause::Expired));
    assert!(!guard.is_held());
}

/// Neither a try nor a wait is granted.
async fn is_refused(locks: &Locker, kind: ErrorKind) {
    assert_eq!(refused(locks.try_acquire("a").await, ""), kind);
    assert_eq!(refused(locks.acquire("a").wait(TTL).await, ""), kind);
}

#[tokio::test(start_paused = true)]
async fn before_the_switch_a_lock_is_lost_at_its_deadline_while_the_new_store_is_down() -> Result<()>
{
    for fault in FAULTS_OF_HELD {
        let stores = Stores::started().await?;
        let guard = stores.both().await?.acquire("a").ttl(TTL).await?;
        sleep(TTL * 2).await;
        fail(&stores, fault);
        let old = Waiting::start(&stores.old_alone()?, TTL);
        is_lost_at_its_deadline(&guard).await;
        // Programs with the old store alone go on, and not earlier.
        let granted = timeout(MOMENT, old.granted()).await;
        let next = granted.expect("the lost lock is released")?;
        assert!(next.token() > guard.token());
        next.release().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn before_the_switch_there_are_no_grants_until_the_new_store_is_back() -> Result<()> {
    for (fault, kind) in FAULTS {
        let stores = Stores::started().await?;
        let (both, old) = (stores.both().await?, stores.old_alone()?);
        let before = both.acquire("a").await?;
        let token = before.token();
        before.release().await?;
        fail(&stores, fault);
        is_refused(&both, kind).await;
        sleep(Migration::READ_VALID).await;
        is_refused(&both, kind).await;
        let between = old.acquire("a").wait(TTL).await?;
        assert!(between.token() > token);
        let token = between.token();
        between.release().await?;
        stores.new.clear_faults();
        let after = both.acquire("a").wait(TTL).await?;
        assert!(after.token() > token && after.token().get() < TOKEN_BASE);
        assert!(old.try_acquire("a").await?.is_none());
        after.release().await?;
        assert!(stores.are_empty(), "{fault:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_until_the_new_store_is_back() -> Result<()> {
    for is_switched in [false, true] {
        for fault in [Fault::LoseRequest, Fault::Stall] {
            let stores = Stores::started().await?;
            let both = stores.both().await?;
            if is_switched {
                stores.steps()?.switch().await?;
            }
            fail(&stores, fault);
            let waiting = Waiting::start(&both, TTL);
            sleep(TTL * 4).await;
            assert!(!waiting.is_granted());
            stores.new.clear_faults();
            let granted = timeout(Duration::from_secs(2), waiting.granted()).await;
            let guard = granted.expect("soon")?;
            assert_eq!(guard.token().get() > TOKEN_BASE, is_switched);
            assert!(guard.remaining() > TTL * 9 / 10);
            guard.release().await?;
            assert!(stores.are_empty(), "{fault:?}");
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_the_switch_a_lock_is_lost_at_its_deadline_though_the_old_store_has_it() -> Result<()>
{
    for fault in FAULTS_OF_HELD {
        for is_from_before in [true, false] {
            let stores = Stores::started().await?;
            let both = stores.both().await?;
            let hold = || both.acquire("a").ttl(TTL);
            let guard = match is_from_before {
                true => {
                    let guard = hold().await?;
                    stores.steps()?.switch().await?;
                    guard
                }
                false => {
                    stores.steps()?.switch().await?;
                    hold().await?
                }
            };
            sleep(TTL * 2).await;
            assert!(stores.old_alone()?.try_acquire("a").await?.is_none());
            fail(&stores, fault);
            is_lost_at_its_deadline(&guard).await;
            // It is released in both stores.
            stores.new.clear_faults();
            sleep(TTL * 2).await;
            assert!(stores.are_empty(), "{fault:?}");
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_the_switch_the_old_store_does_not_take_the_place_of_a_new_one_that_is_down()
-> Result<()> {
    for (fault, kind) in FAULTS {
        let stores = Stores::started().await?;
        // One has found the switch, and the other one has not.
        let (first, second) = (stores.both().await?, stores.both().await?);
        stores.steps()?.switch().await?;
        let guard = first.acquire("a").await?;
        let mut last = guard.token();
        assert!(last.get() > TOKEN_BASE);
        guard.release().await?;
        fail(&stores, fault);
        let new = stores.new_alone()?;
        for locks in [&first, &second, &new] {
            is_refused(locks, kind).await;
        }
        sleep(Migration::READ_VALID * 2).await;
        for locks in [&first, &second, &new] {
            is_refused(locks, kind).await;
        }
        stores.new.clear_faults();
        for locks in [&second, &first, &new] {
            let guard = locks.acquire("a").wait(TTL).await?;
            assert!(guard.token() > last, "{} after {last}", guard.token());
            last = guard.token();
            guard.release().await?;
        }
        assert!(stores.are_empty(), "{fault:?}");
    }
    Ok(())
}
