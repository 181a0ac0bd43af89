//! How evenly the renewals of locks are spread that were all taken at the same moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, Capabilities, Clock, Holder, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    memory::Memory,
};

use crate::figure::{Figure, float};

const LOCKS: usize = 100_000;
const SECONDS: usize = 60;

pub(crate) fn measure() -> Vec<Figure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.expect("runtime").block_on(async {
        let clock = Clock::pausable();
        let seconds: Arc<[AtomicUsize; SECONDS]> =
            Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)));
        let backend = Counting {
            store: Memory::with_clock(clock.clone()),
            start: clock.now(),
            seconds: seconds.clone(),
        };
        let locker = Locker::builder(backend)
            .ttl(Duration::from_secs(30))
            .clock(clock);
        let locks = locker.build().expect("locker");
        let mut guards = Vec::with_capacity(LOCKS);
        for i in 0..LOCKS {
            guards.push(locks.acquire(format!("seat/{i}")).await.expect("free"));
        }
        tokio::time::sleep(Duration::from_secs(SECONDS as u64)).await;
        assert!(
            guards.iter().all(dlock_core::Guard::is_held),
            "every lock is still held"
        );
        let counts: Vec<_> = seconds
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        let mean = float(counts.iter().sum()) / float(SECONDS);
        let peak = float(counts.iter().copied().max().unwrap_or(0));
        let what = "busiest second of 100,000 locks' renewals, of the mean".into();
        vec![Figure {
            what,
            is: peak / mean,
            at_most: 2.5,
        }]
    })
}

/// A memory store that counts renewals by the second.
#[derive(Debug)]
struct Counting {
    store: Memory,
    start: BootInstant,
    seconds: Arc<[AtomicUsize; SECONDS]>,
}

#[async_trait]
impl DistributedLock for Counting {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.store.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let second = lease.sent_now().instant().since(self.start).as_secs();
        let second = usize::try_from(second).unwrap_or(usize::MAX);
        if let Some(count) = self.seconds.get(second) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.store.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.store.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
