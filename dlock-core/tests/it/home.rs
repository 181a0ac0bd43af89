//! Calls from another runtime than the one that the locker lives in.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use dlock_core::{
    Capabilities, Clock, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, SentAt, async_trait},
    memory::Memory,
    toolkit::Batcher,
};
use tokio::{
    runtime::{Builder, Handle, Id, Runtime},
    time::timeout,
};

use crate::common::{NAME, locker, millis, secs};

/// A store whose renewals are sent as one batch, and which records the runtime that calls it.
#[derive(Debug)]
struct Store {
    memory: Memory,
    renewals: Batcher<(), ()>,
    homes: Arc<Mutex<HashSet<Id>>>,
}

impl Store {
    fn new() -> Self {
        let clock = Clock::boottime();
        let renewals = Batcher::windowed(500, move |items: Vec<()>| {
            let sent = SentAt::now(&clock);
            Box::pin(async move { Ok((sent, items)) })
        });
        Self {
            memory: Memory::new(),
            renewals,
            homes: Arc::default(),
        }
    }

    fn record_runtime(&self) {
        let mut homes = self.homes.lock().expect("homes");
        homes.insert(Handle::current().id());
    }
}

#[async_trait]
impl DistributedLock for Store {
    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.record_runtime();
        self.memory.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.record_runtime();
        self.renewals.join(()).await?;
        self.memory.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.record_runtime();
        self.memory.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.record_runtime();
        self.memory.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.record_runtime();
        self.memory.close().await
    }
}

fn home() -> Runtime {
    let mut home = Builder::new_multi_thread();
    home.worker_threads(1).enable_all().build().expect("home")
}

fn elsewhere() -> Runtime {
    let mut elsewhere = Builder::new_current_thread();
    elsewhere.enable_all().build().expect("elsewhere")
}

#[test]
fn the_store_is_only_called_at_home() -> Result<()> {
    let (home, store) = (home(), Store::new());
    let homes = store.homes.clone();
    let locks = home.block_on(async { locker(store) });
    elsewhere().block_on(async {
        let guard = locks.acquire(NAME).await?;
        guard.renew().await?;
        assert!(locks.inspect(NAME).await?.is_some());
        guard.release().await?;
        locks.shutdown(secs(10)).await
    })?;
    let homes = homes.lock().expect("homes");
    assert_eq!(*homes, HashSet::from([home.handle().id()]));
    Ok(())
}

/// Requests that many leave with would wait for it.
#[test]
fn a_runtime_that_is_blocked_delays_no_other() -> Result<()> {
    let (home, elsewhere) = (home(), elsewhere());
    let locks = home.block_on(async { locker(Store::new()) });
    let mine = home.block_on(async { locks.acquire("mine").ttl(secs(10)).await })?;
    let others = home.block_on(async { locks.acquire("others").ttl(secs(10)).await })?;
    let dropped = elsewhere.block_on(async { timeout(millis(1), mine.renew()).await });
    assert!(dropped.is_err(), "it waits for others to leave with");
    home.block_on(others.renew())
}
