//! A new store that loses its record of the migration while programs run.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, ErrorKind, Holder, LockName, Locker, Result,
    backend::{
        AcquireRequest, DistributedLock, Lease, Migration, MigrationRecord, MigrationStage, Renewed,
    },
    memory::Memory,
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};
use tokio::time::{sleep, timeout};

use crate::support::{TOKEN_BASE, Waiting, refused};

const TTL: Duration = Duration::from_secs(10);
const GONE: &str = "is gone from the new store; run \"dlock migrate status FROM TO\"";

/// A store that can lose its record, and no lock.
#[derive(Clone, Debug, Default)]
struct Forgetful {
    locks: Memory,
    /// The store with the record.
    record: Arc<Mutex<Memory>>,
}

impl Forgetful {
    fn forget(&self) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Memory::new();
    }

    fn record(&self) -> Memory {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.clone()
    }
}

#[async_trait]
impl MigrationRecord for Forgetful {
    async fn read(&self) -> Result<Option<String>> {
        self.record().read().await
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        self.record().compare_and_set(expected, next).await
    }
}

#[async_trait]
impl DistributedLock for Forgetful {
    fn capabilities(&self) -> Capabilities {
        self.locks.capabilities()
    }

    fn clock(&self) -> Clock {
        self.locks.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.locks.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.locks.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.locks.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.locks.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.locks.close().await
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(self)
    }
}

/// A migration whose new store can lose its record.
#[derive(Default)]
struct Move {
    old: Memory,
    new: Forgetful,
}

impl Move {
    async fn started() -> Result<Self> {
        let this = Self::default();
        this.steps()?.start().await?;
        Ok(this)
    }

    fn sides(&self) -> (Store, Store) {
        let old = Store::new(self.old.clone(), 0);
        (old, Store::new(self.new.clone(), TOKEN_BASE))
    }

    fn steps(&self) -> Result<Steps> {
        let (old, new) = self.sides();
        Steps::new(old, new, "redis://db-1", "etcd://etcd-1")
    }

    async fn both(&self) -> Result<Locker> {
        let (old, new) = self.sides();
        Locker::builder(MigrateLock::open(old, new).await?).build()
    }

    fn are_empty(&self) -> bool {
        self.old.names().is_empty() && self.new.locks.names().is_empty()
    }
}

/// Neither a try nor a wait is granted, no holder is shown, and each says why.
async fn is_refused(locks: &Locker) {
    let tried = locks.try_acquire("a").await;
    assert_eq!(refused(tried, GONE), ErrorKind::Unavailable);
    let waited = locks.acquire("a").wait(TTL).await;
    assert_eq!(refused(waited, GONE), ErrorKind::Unavailable);
    let holder = locks.inspect("a").await;
    assert_eq!(refused(holder, GONE), ErrorKind::Unavailable);
}

/// The lock is granted, by the new store.
async fn is_granted_by_new(locks: &Locker) -> Result<()> {
    let guard = locks.acquire("a").await?;
    assert!(guard.token().get() > TOKEN_BASE);
    guard.release().await
}

#[tokio::test(start_paused = true)]
async fn a_program_that_has_not_found_the_switch_goes_on_when_it_is_written_again() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    stores.new.forget();
    is_refused(&both).await;
    assert!(stores.are_empty());
    let waiting = Waiting::start(&both, TTL);
    sleep(TTL * 4).await;
    assert!(!waiting.is_granted());
    let steps = stores.steps()?;
    assert!(steps.close().await?.wait().is_zero());
    steps.switch().await?;
    let stage = steps.status().await?.new.map(|new| new.stage);
    assert_eq!(stage, Some(MigrationStage::Arrived));
    let granted = timeout(Duration::from_secs(2), waiting.granted()).await;
    let guard = granted.expect("soon")?;
    assert!(guard.token().get() > TOKEN_BASE);
    guard.release().await?;
    is_granted_by_new(&both).await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_program_that_has_found_the_switch_needs_no_record() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    is_granted_by_new(&both).await?;
    stores.new.forget();
    for _ in 0..3 {
        is_granted_by_new(&both).await?;
        sleep(Migration::READ_VALID).await;
    }
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_held_without_the_record_while_both_stores_have_it() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    let guard = both.acquire("a").ttl(TTL).await?;
    stores.steps()?.switch().await?;
    stores.new.forget();
    sleep(TTL * 3).await;
    assert!(guard.is_held());
    // The program does not know that the old store counts no more.
    stores.old.expire("a");
    sleep(TTL).await;
    assert!(!guard.is_held());
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn before_the_switch_a_program_goes_on_for_thirty_seconds_and_after_a_start() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    stores.new.forget();
    sleep(Migration::READ_VALID - Duration::from_secs(1)).await;
    both.acquire("a").await?.release().await?;
    sleep(Duration::from_secs(1)).await;
    is_refused(&both).await;
    assert!(stores.are_empty());
    stores.steps()?.start().await?;
    let guard = both.acquire("a").await?;
    assert!(guard.token().get() < TOKEN_BASE);
    guard.release().await?;
    stores.steps()?.switch().await?;
    is_granted_by_new(&both).await?;
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn before_the_switch_a_cancel_ends_the_move() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    stores.new.forget();
    sleep(Migration::READ_VALID).await;
    is_refused(&both).await;
    stores.steps()?.cancel().await?;
    let over = both.acquire("a").wait_forever().await;
    assert_eq!(
        refused(over, "was cancelled: use redis://db-1 alone"),
        ErrorKind::InvalidConfig
    );
    assert!(stores.are_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_lost_before_the_end_of_the_switch_is_written_by_it() -> Result<()> {
    let stores = Move::started().await?;
    let both = stores.both().await?;
    let steps = stores.steps()?;
    let closed = steps.close().await?;
    sleep(closed.wait()).await;
    stores.new.forget();
    is_refused(&both).await;
    steps.switch_closed(&closed).await?;
    is_granted_by_new(&both).await?;
    assert!(stores.are_empty());
    Ok(())
}
