//! A store that may have forgotten its locks and grants none for a while.

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Error, ErrorKind, Holder, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    memory::Memory,
};

use crate::common::{NAME, millis, paused, secs};

/// Grants nothing, and says why.
#[derive(Debug)]
struct Guarded(Memory);

#[async_trait]
impl DistributedLock for Guarded {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            restart_guard: secs(60),
            ..self.0.capabilities()
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let why = Error::new(ErrorKind::Unavailable, "see restart_guard=");
        request.attempt.report_unavailable(&why);
        request.attempt.cancelled().await;
        Err(why)
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
}

#[tokio::test(start_paused = true)]
async fn a_default_wait_is_longer_than_the_guard() {
    let (clock, store, _) = paused();
    let locks = Locker::builder(Guarded(store))
        .clock(clock.clone())
        .build()
        .expect("locker");
    let start = clock.now();
    let error = locks.acquire(NAME).await.expect_err("guarded");
    let waited = clock.now().since(start);
    assert!((secs(70)..millis(70_003)).contains(&waited), "{waited:?}");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("see restart_guard="), "{error}");
}

#[tokio::test]
async fn a_ttl_that_is_longer_than_the_guard_is_refused() {
    let backend = || Guarded(Memory::new());
    let locks = Locker::builder(backend()).build().expect("locker");
    let error = locks.acquire(NAME).ttl(secs(61)).await;
    let error = error.expect_err("it would outlive the guard");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("restart_guard=1m"), "{error}");
    let error = Locker::builder(backend()).ttl(secs(61)).build();
    let error = error.expect_err("it would outlive the guard");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}
