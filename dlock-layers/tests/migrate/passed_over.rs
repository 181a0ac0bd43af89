//! After the switch an old store that fails is left out for 5 s, and is then taken along again.

use std::time::Duration;

use dlock_core::{
    Clock, Locker, Result,
    backend::RELEASE_TRY_MAX,
    memory::{Fault, Operation},
};
use tokio::{task::JoinSet, time::sleep};

use crate::support::Stores;

/// How long a silent old store is waited for.
const WAIT: Duration = Duration::from_millis(500);

/// How long it is left out.
const LEFT_OUT: Duration = Duration::from_secs(5);

/// The most that an acquire takes without a wait.
const AT_ONCE: Duration = Duration::from_millis(20);

const FAULTS: [Fault; 3] = [Fault::Stall, Fault::LoseRequest, Fault::Deny];

/// Stores after the switch, which the program has not found yet.
async fn switched() -> Result<(Stores, Locker)> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    Ok((stores, both))
}

/// How long an acquire of `name` takes.
async fn cycle(locks: &Locker, name: &str) -> Result<Duration> {
    let clock = Clock::pausable();
    let before = clock.now();
    let guard = locks.acquire(name).await?;
    let took = clock.now().since(before);
    guard.release().await?;
    Ok(took)
}

/// Whether a lock is also in the old store while it is held.
async fn is_in_both(stores: &Stores, locks: &Locker) -> Result<bool> {
    let guard = locks.acquire("a").await?;
    assert!(stores.new_alone()?.try_acquire("a").await?.is_none());
    let is_in_old = stores.old_alone()?.inspect("a").await?.is_some();
    guard.release().await?;
    assert!(stores.are_empty());
    Ok(is_in_old)
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_is_back_is_taken_along_again_after_five_seconds() -> Result<()> {
    for fault in FAULTS {
        let (stores, both) = switched().await?;
        assert!(is_in_both(&stores, &both).await?);
        stores.old.inject(Operation::Acquire, fault);
        let took = cycle(&both, "a").await?;
        if fault == Fault::Stall {
            assert!(took >= WAIT && took < WAIT + AT_ONCE, "{took:?}");
        } else {
            assert!(took < AT_ONCE, "{took:?}");
        }
        stores.old.clear_faults();
        for _ in 0..5 {
            assert!(!is_in_both(&stores, &both).await?, "{fault:?}");
            sleep((LEFT_OUT - AT_ONCE) / 5).await;
        }
        assert!(!is_in_both(&stores, &both).await?, "{fault:?}");
        sleep(AT_ONCE).await;
        assert!(is_in_both(&stores, &both).await?, "{fault:?}");
        assert!(cycle(&both, "a").await? < AT_ONCE);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_stays_silent_costs_one_wait_in_five_seconds() -> Result<()> {
    let (stores, both) = switched().await?;
    stores.old.inject(Operation::Acquire, Fault::Stall);
    for _ in 0..4 {
        let took = cycle(&both, "a").await?;
        assert!(took >= WAIT && took < WAIT + AT_ONCE, "{took:?}");
        for _ in 0..5 {
            let took = cycle(&both, "a").await?;
            assert!(took < AT_ONCE, "{took:?}");
            sleep((LEFT_OUT - AT_ONCE) / 5).await;
        }
        let took = cycle(&both, "a").await?;
        assert!(took < AT_ONCE, "{took:?}");
        sleep(AT_ONCE).await;
    }
    stores.old.clear_faults();
    sleep(LEFT_OUT).await;
    assert!(is_in_both(&stores, &both).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn acquires_at_the_same_time_wait_once_for_a_silent_old_store() -> Result<()> {
    let (stores, both) = switched().await?;
    stores.old.inject(Operation::Acquire, Fault::Stall);
    let mut acquires = JoinSet::new();
    for number in 0..10 {
        let both = both.clone();
        acquires.spawn(async move { cycle(&both, &format!("lock-{number}")).await });
    }
    for took in acquires.join_all().await {
        let took = took?;
        assert!(took >= WAIT && took < WAIT + AT_ONCE, "{took:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_was_taken_without_the_old_store_excludes_when_that_is_back() -> Result<()> {
    let ttl = Duration::from_secs(10);
    let (stores, both) = switched().await?;
    let other = stores.both().await?;
    stores.old.inject(Operation::Acquire, Fault::Stall);
    let guard = both.acquire("a").ttl(ttl).await?;
    stores.old.clear_faults();
    sleep(LEFT_OUT * 4).await;
    assert!(guard.is_held());
    // These have the old store again, where the lock is free.
    for locks in [&both, &other] {
        assert!(locks.try_acquire("a").await?.is_none());
    }
    let token = guard.token();
    guard.release().await?;
    let next = other.acquire("a").await?;
    assert!(next.token() > token);
    next.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

/// A request may have no answer, as over a connection that is half open.
#[tokio::test(start_paused = true)]
async fn a_release_without_an_answer_is_tried_again() -> Result<()> {
    let (stores, both) = switched().await?;
    let guard = both.acquire("a").await?;
    stores.old.inject(Operation::Release, Fault::Stall);
    guard.release().await?;
    // The first try in the background has no answer, either.
    sleep(WAIT).await;
    assert!(!stores.are_empty());
    stores
        .old
        .inject_once(Operation::Release, Fault::LoseRequest);
    sleep(RELEASE_TRY_MAX + Duration::from_secs(1)).await;
    assert!(stores.are_empty());
    Ok(())
}
