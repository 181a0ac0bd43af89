//! Shared parts of the tests of core.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock_core::{
    Capabilities, Clock, Holder, LockName, Locker, LockerBuilder, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    memory::Memory,
};

pub(crate) const NAME: &str = "the/name";

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn locker(backend: impl DistributedLock) -> Locker {
    Locker::builder(backend).build().expect("locker")
}

/// A memory store and a locker of it on a clock that follows tokio's.
pub(crate) fn paused() -> (Clock, Memory, Locker) {
    let clock = Clock::pausable();
    let store = Memory::with_clock(clock.clone());
    let locks = Locker::builder(store.clone())
        .ttl(secs(10))
        .clock(clock.clone());
    (clock, store, locks.build().expect("locker"))
}

/// Polls `future` at most `polls` times, letting everything else run in between, then drops it.
pub(crate) async fn poll_times<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        settle().await;
    }
    None
}

/// Lets every other task run until it waits.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Waits until `store` has no holder and no waiter.
pub(crate) async fn until_unused(store: &Memory) {
    let unused = async {
        while !store.names().is_empty() {
            // A paused clock goes on only while everything sleeps.
            tokio::time::sleep(millis(1)).await;
        }
    };
    tokio::time::timeout(secs(5), unused)
        .await
        .expect("nothing is left");
}

type Hook = Box<dyn FnMut(usize) + Send>;

/// Calls a hook at each poll of the wrapped backend's acquire.
pub(crate) struct CountingPolls<B> {
    pub(crate) inner: B,
    polls: Arc<AtomicUsize>,
    hook: Mutex<Hook>,
}

impl<B> CountingPolls<B> {
    pub(crate) fn new(inner: B, hook: impl FnMut(usize) + Send + 'static) -> Self {
        Self {
            inner,
            polls: Arc::default(),
            hook: Mutex::new(Box::new(hook)),
        }
    }
}

impl<B> std::fmt::Debug for CountingPolls<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CountingPolls")
    }
}

#[async_trait]
impl<B: DistributedLock> DistributedLock for CountingPolls<B> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let mut acquire = pin!(self.inner.acquire(request));
        std::future::poll_fn(|cx| {
            let poll = self.polls.fetch_add(1, Ordering::SeqCst);
            (self.hook.lock().expect("hook"))(poll);
            acquire.as_mut().poll(cx)
        })
        .await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.inner.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.inner.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.inner.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

/// A store whose answers come some polls after it has acted: what any server on a network is.
#[derive(Debug)]
pub(crate) struct SlowReply(pub(crate) Memory);

#[async_trait]
impl DistributedLock for SlowReply {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let lease = self.0.acquire(request).await;
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        lease
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.0.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        tokio::task::yield_now().await;
        self.0.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}

/// Calls a hook at each renewal.
pub(crate) struct OnRenew<F>(pub(crate) Memory, pub(crate) F);

impl<F> std::fmt::Debug for OnRenew<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnRenew")
    }
}

#[async_trait]
impl<F: Fn(&Lease) + Send + Sync + 'static> DistributedLock for OnRenew<F> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        (self.1)(lease);
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

/// A backend that a test observes while its locker uses it.
#[derive(Debug)]
pub(crate) struct Shared<B>(pub(crate) Arc<B>, Capabilities);

impl<B: DistributedLock> Shared<B> {
    pub(crate) fn new(backend: B) -> Self {
        let capabilities = backend.capabilities();
        Self(Arc::new(backend), capabilities)
    }

    /// The same under another name, for what is counted for each backend of the process.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.1.backend = name;
        self
    }

    /// A locker of this backend.
    pub(crate) fn builder(&self) -> LockerBuilder {
        Locker::builder(Self(self.0.clone(), self.1))
    }
}

#[async_trait]
impl<B: DistributedLock> DistributedLock for Shared<B> {
    fn capabilities(&self) -> Capabilities {
        self.1
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
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
}
