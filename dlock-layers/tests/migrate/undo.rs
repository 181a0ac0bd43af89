//! Locks that an acquire has taken and cannot use: they are released, or the error says that this is not known.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, Effect, ErrorKind, Holder, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed},
    memory::{Fault, Memory, Operation},
};
use dlock_layers::migrate::{MigrateLock, Store};

use crate::support::{Stores, TOKEN_BASE, refused};

/// A new store whose acquires panic.
#[derive(Debug)]
struct Panics(Memory);

#[tokio::test(start_paused = true)]
async fn a_new_store_that_panics_keeps_no_old_lock() -> Result<()> {
    let stores = Stores::started().await?;
    let old = Store::new(stores.old.clone(), 0);
    let new = Store::new(Panics(stores.new.clone()), TOKEN_BASE);
    let locks = Locker::builder(MigrateLock::open(old, new).await?).build()?;
    let error = locks.try_acquire("a").await;
    assert_eq!(refused(error, "new store panicked"), ErrorKind::Internal);
    assert!(stores.are_empty());
    Ok(())
}

/// Another client has the lock in the new store.
#[tokio::test(start_paused = true)]
async fn the_effect_of_an_acquire_whose_undo_is_not_confirmed_is_unknown() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let other = stores.new_alone()?;
    let _taken = other.acquire("a").await?;
    let refusal = both
        .acquire("a")
        .wait(Duration::ZERO)
        .await
        .expect_err("taken");
    assert_eq!(refusal.effect(), Effect::None, "{refusal}");
    stores.old.inject(Operation::Release, Fault::Stall);
    let refusal = both
        .acquire("a")
        .wait(Duration::ZERO)
        .await
        .expect_err("taken");
    assert_eq!(refusal.effect(), Effect::Unknown, "{refusal}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_from_before_the_switch_is_released_without_a_silent_old_store() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let guard = both.acquire("a").await?;
    stores.steps()?.switch().await?;
    both.acquire("b").await?.release().await?;
    stores.old.inject(Operation::Release, Fault::Stall);
    let released = tokio::time::timeout(Duration::from_secs(1), guard.release()).await;
    released.expect("in time")?;
    assert!(stores.new.names().is_empty());
    Ok(())
}

#[async_trait]
impl DistributedLock for Panics {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, _: &AcquireRequest) -> Result<Lease> {
        panic!("a defect")
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.0.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.0.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        self.0.migration_record()
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
