//! Nodes, and the programs that use them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    AttemptId, Capabilities, Clock, Error, ErrorKind, Expiry, Guard, Holder, LockName, Locker,
    Result,
    backend::{AcquireRequest, Deadline, DistributedLock, Lease, Renewed, Wait},
    memory::{Fault, Memory, Operation},
};
use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions};

pub(crate) const TTL: Duration = Duration::from_secs(10);

/// The nodes of a test.
pub(crate) struct Nodes(pub(crate) Vec<Memory>);

impl Nodes {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Memory::new()).collect())
    }

    /// A program that uses all of them.
    pub(crate) async fn program(&self) -> Result<Locker> {
        self.program_with(&QuorumOptions::new()).await
    }

    pub(crate) async fn program_with(&self, options: &QuorumOptions) -> Result<Locker> {
        let nodes = self.0.iter().cloned().map(Node::new);
        program_of(nodes, options).await
    }

    /// All operations of a node fail in this way.
    pub(crate) fn fail(&self, node: usize, fault: Fault) {
        for operation in [
            Operation::Acquire,
            Operation::Renew,
            Operation::Release,
            Operation::Inspect,
            Operation::Raise,
        ] {
            self.0[node].inject(operation, fault);
        }
    }

    pub(crate) fn down(&self, node: usize) {
        self.fail(node, Fault::LoseRequest);
    }

    pub(crate) fn silent(&self, node: usize) {
        self.fail(node, Fault::Stall);
    }

    pub(crate) fn back(&self, node: usize) {
        self.0[node].clear_faults();
    }

    /// The node forgets the lock `a` without a report.
    pub(crate) fn forgets(&self, node: usize) {
        self.0[node].expire("a");
    }

    /// The attempt that holds `a` in one node.
    pub(crate) async fn holder(&self, node: usize) -> Result<Option<AttemptId>> {
        let holder = self.0[node].inspect(&LockName::new("a")?).await?;
        Ok(holder.and_then(|holder| holder.attempt))
    }

    /// How many nodes hold or queue something.
    pub(crate) fn used(&self) -> usize {
        self.0
            .iter()
            .filter(|node| !node.names().is_empty())
            .count()
    }
}

pub(crate) async fn program_of(
    nodes: impl IntoIterator<Item = Node>,
    options: &QuorumOptions,
) -> Result<Locker> {
    Locker::builder(QuorumLock::open(nodes, options).await?)
        .ttl(TTL)
        .build()
}

/// An acquire of `a` that waits for up to a minute, in a task of its own.
pub(crate) struct Waiting(tokio::task::JoinHandle<Result<Guard>>);

impl Waiting {
    pub(crate) fn start(locks: &Locker) -> Self {
        const WAIT: Duration = Duration::from_secs(60);
        let locks = locks.clone();
        let acquire = async move { locks.acquire("a").wait(WAIT).await };
        Self(tokio::spawn(acquire))
    }

    pub(crate) async fn granted(self) -> Result<Guard> {
        let ended = self.0.await;
        ended.unwrap_or_else(|panic| panic!("the acquire panicked: {panic}"))
    }
}

/// How long `work` takes, by the paused clock.
pub(crate) async fn time_of<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let clock = Clock::pausable();
    let before = clock.now();
    let result = work.await;
    (clock.now().since(before), result)
}

/// The kind of an error, which has `text` in its line.
pub(crate) fn refused<T>(result: Result<T>, text: &str) -> ErrorKind {
    let Err(error) = result else {
        panic!("nothing was refused, expected was {text:?}")
    };
    assert!(error.to_string().contains(text), "{error}");
    error.kind()
}

/// A store with a delay in each direction, and without a counter that can be raised.
#[derive(Debug)]
pub(crate) struct Delayed {
    pub(crate) store: Memory,
    /// Before an acquire.
    pub(crate) requests: Duration,
    /// After an acquire or an inspection.
    pub(crate) replies: Duration,
}

#[async_trait]
impl DistributedLock for Delayed {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        tokio::time::sleep(self.requests).await;
        let granted = self.store.acquire(request).await;
        tokio::time::sleep(self.replies).await;
        granted
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.store.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let found = self.store.inspect(name).await;
        tokio::time::sleep(self.replies).await;
        found
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

/// A store whose waiters go into its queue for a time without a report, as those of MySQL do.
#[derive(Debug)]
pub(crate) struct Mute {
    pub(crate) store: Memory,
    pub(crate) for_: Duration,
    /// How many waits have begun.
    pub(crate) waits: Arc<AtomicUsize>,
}

#[async_trait]
impl DistributedLock for Mute {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        if request.wait == Wait::UntilCancelled {
            self.waits.fetch_add(1, Ordering::SeqCst);
            tokio::select! {
                () = tokio::time::sleep(self.for_) => {}
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            }
        }
        self.store.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
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

/// A store whose locks end with the process only, as those of files.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Memory);

#[async_trait]
impl DistributedLock for Process {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            expiry: Expiry::Process,
            ..self.0.capabilities()
        }
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let (sent, outer) = (request.sent_now(), request.attempt.clone());
        let mut inner = request.nested(move |cause| outer.report_lost(cause));
        inner.ttl = TTL * 1_000;
        let lease = self.0.acquire(&inner).await?;
        Ok(request.granted_to_process(sent, lease.token, lease))
    }

    async fn renew(&self, _: &Lease) -> Result<Renewed> {
        Ok(Renewed::Until(Deadline::FOREVER))
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        match lease.handle() {
            Some(inner) => self.0.release(inner).await,
            None => Err(Error::new(
                ErrorKind::Internal,
                "the lease of another store",
            )),
        }
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
