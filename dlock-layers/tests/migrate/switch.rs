//! The switch, while locks are held and waited for.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Result,
    memory::{Fault, Operation},
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};

use crate::support::{Stores, TOKEN_BASE, Waiting, refused};

const TTL: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn programs_of_three_kinds_exclude_each_other() -> Result<()> {
    let stores = Stores::started().await?;
    let (both, old) = (stores.both().await?, stores.old_alone()?);
    let guard = both.acquire("a").await?;
    assert!(guard.token().get() < TOKEN_BASE);
    assert!(old.try_acquire("a").await?.is_none());
    let last = guard.token();
    guard.release().await?;
    let guard = old.acquire("a").await?;
    assert!(guard.token() > last);
    assert!(both.try_acquire("a").await?.is_none());
    guard.release().await?;

    stores.steps()?.switch().await?;
    let new = stores.new_alone()?;
    let guard = both.acquire("a").await?;
    assert!(guard.token().get() > TOKEN_BASE);
    assert!(new.try_acquire("a").await?.is_none());
    let last = guard.token();
    guard.release().await?;
    let guard = new.acquire("a").await?;
    assert!(guard.token() > last);
    assert!(both.try_acquire("a").await?.is_none());
    guard.release().await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_held_over_the_switch_and_over_the_end_of_the_old_store() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall] {
        let stores = Stores::started().await?;
        let both = stores.both().await?;
        let guard = both.acquire("a").ttl(TTL).await?;
        stores.steps()?.switch().await?;
        stores.old.inject(Operation::Renew, fault);
        stores.old.inject(Operation::Release, fault);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(guard.is_held());
        assert!(stores.new_alone()?.try_acquire("a").await?.is_none());
        guard.release().await?;
        assert!(stores.are_empty(), "the old one has ended by itself");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn without_a_switch_the_end_of_the_old_store_is_a_loss() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = both.acquire("a").ttl(TTL).await?;
    stores.old.inject(Operation::Renew, Fault::LoseRequest);
    tokio::time::timeout(TTL, guard.lost())
        .await
        .expect("lost in time");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_over_the_switch() -> Result<()> {
    let stores = Stores::started().await?;
    let (first, second) = (stores.both().await?, stores.both().await?);
    let guard = first.acquire("a").await?;
    let waiting = Waiting::start(&second, TTL);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stores.steps()?.switch().await?;
    let before = guard.token();
    guard.release().await?;
    let guard = waiting.granted().await?;
    assert!(guard.token().get() > TOKEN_BASE && guard.token() > before);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_base_that_is_too_small_is_refused_before_the_switch() -> Result<()> {
    let stores = Stores::new();
    let sides = || {
        let old = Store::new(stores.old.clone(), 0);
        (old, Store::new(stores.new.clone(), 0))
    };
    let (old, new) = sides();
    let steps = Steps::new(old, new, "redis://db-1", "etcd://etcd-1")?;
    steps.start().await?;
    let (old, new) = sides();
    let locks = dlock_core::Locker::builder(MigrateLock::open(old, new).await?).build()?;
    for _ in 0..3 {
        stores.old_alone()?.acquire("a").await?.release().await?;
    }
    let small = locks.acquire("a").await;
    assert_eq!(
        refused(small, "set a larger one in to="),
        ErrorKind::InvalidConfig
    );
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_holder_is_that_of_the_store_that_counts() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = both.acquire("a").await?;
    let holder = both.inspect("a").await?.expect("a holder");
    assert_eq!(holder.token, Some(guard.token()));
    guard.release().await?;
    stores.steps()?.switch().await?;
    let guard = both.acquire("a").await?;
    let holder = both.inspect("a").await?.expect("a holder");
    assert_eq!(holder.token, Some(guard.token()));
    Ok(())
}
