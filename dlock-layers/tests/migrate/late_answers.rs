//! A new store that answers late, and later than a cancelled acquire should end.

use std::time::Duration;

use dlock_core::{
    Capabilities, Clock, Holder, LockName, Locker, Result,
    backend::{
        AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed, TokenCounter, async_trait,
    },
    memory::Memory,
};
use dlock_layers::migrate::{MigrateLock, Store};
use tokio::time::{sleep, timeout};

use crate::support::{Stores, TOKEN_BASE, Waiting};

const TTL: Duration = Duration::from_secs(30);

/// More than a timer may be late.
const MOMENT: Duration = Duration::from_millis(50);

/// How late the store answers.
const LATE: Duration = Duration::from_secs(5);

/// A waiting acquire gives the old lock back after so long.
const SILENT: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Late(Memory);

#[async_trait]
impl DistributedLock for Late {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        sleep(LATE).await;
        self.0.acquire(request).await
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

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        self.0.migration_record()
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        self.0.token_counter()
    }
}

/// A program with both stores, and one with the old store alone.
async fn programs(stores: &Stores) -> Result<(Locker, Locker)> {
    let (old, _) = stores.sides();
    let new = Store::new(Late(stores.new.clone()), TOKEN_BASE);
    let both = Locker::builder(MigrateLock::open(old, new).await?).build()?;
    Ok((both, stores.old_alone()?))
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
    let stores = Stores::started().await?;
    let (both, alone) = programs(&stores).await?;
    let waiting = Waiting::start(&both, TTL);
    old_is_free(&alone, SILENT + MOMENT).await?;
    assert!(!waiting.is_granted());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_cancelled_gives_the_old_lock_back_before_the_answer() -> Result<()> {
    let stores = Stores::started().await?;
    let (both, alone) = programs(&stores).await?;
    let cancelled = tokio::spawn(async move { both.acquire("a").wait(MOMENT * 2).await });
    old_is_free(&alone, MOMENT * 3).await?;
    let ended = cancelled.await.expect("no panic");
    ended.expect_err("no grant in time");
    sleep(LATE * 2).await;
    assert!(stores.are_empty());
    Ok(())
}
