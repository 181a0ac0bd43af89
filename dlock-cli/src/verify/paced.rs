//! A backend whose calls have their turns, and a meter of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock::{
    BootInstant, Capabilities, Clock, Error, ErrorKind, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};
use dlock_core::toolkit::Lock;

use super::{names::Names, pace::Pace};

/// An acquire whose wait ends earlier may end without an answer if it waits for its turn.
const WAIT_MIN: Duration = Duration::from_secs(2);

/// Counts and times of the calls of a backend.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    grants: AtomicU64,
    /// In microseconds, of renewals, releases and inspections: an acquire may wait.
    slowest: AtomicU64,
    /// The last call that the store did not answer or permit, and why.
    silent: Lock<Option<(BootInstant, String)>>,
}

impl Meter {
    /// How many locks were granted.
    pub(crate) fn grants(&self) -> u64 {
        self.grants.load(Ordering::Relaxed)
    }

    /// The slowest reply.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Relaxed))
    }

    /// A call has failed. Only an error that says nothing of the contract is noted.
    pub(crate) fn failed(&self, at: BootInstant, error: &Error) {
        if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied) {
            *self.silent.lock() = Some((at, error.to_string()));
        }
    }

    /// Why the store did not answer or permit the last such call since `start`.
    pub(crate) fn silent_since(&self, start: BootInstant) -> Option<String> {
        let silent = self.silent.lock();
        let (at, why) = silent.as_ref()?;
        (*at >= start).then(|| why.clone())
    }

    fn answered(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.slowest.fetch_max(micros, Ordering::Relaxed);
    }
}

/// A backend whose calls have their turns.
#[derive(Debug)]
pub(crate) struct Paced {
    inner: Box<dyn DistributedLock>,
    pace: Arc<Pace>,
    meter: Arc<Meter>,
    clock: Clock,
    short_waits: ShortWaits,
    names: Option<Arc<Names>>,
}

/// Whether an acquire whose wait ends soon has a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShortWaits {
    /// As all others: its wait may end before.
    HaveTurns,
    /// Later calls wait longer instead: for few such acquires, whose ends are judged.
    GoAhead,
}

impl Paced {
    /// `inner`, whose calls are paced and measured.
    pub(crate) fn new(inner: Box<dyn DistributedLock>, pace: Arc<Pace>, meter: Arc<Meter>) -> Self {
        Self {
            inner,
            pace,
            meter,
            clock: Clock::boottime(),
            short_waits: ShortWaits::HaveTurns,
            names: None,
        }
    }

    /// For cases: notes the names of locks in `names`, and lets acquires go ahead whose wait ends soon.
    pub(crate) fn for_cases(self, names: Arc<Names>) -> Self {
        Self {
            short_waits: ShortWaits::GoAhead,
            names: Some(names),
            ..self
        }
    }

    async fn timed<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let sent = self.clock.now();
        let answer = self.noted(call).await;
        if answer.is_ok() {
            self.meter.answered(self.clock.now().since(sent));
        }
        answer
    }

    async fn noted<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let answer = call.await;
        answer.inspect_err(|error| self.meter.failed(self.clock.now(), error))
    }
}

#[async_trait]
impl DistributedLock for Paced {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let now = self.clock.now();
        let ends_soon = |end: BootInstant| end < now.after(WAIT_MIN);
        if self.short_waits == ShortWaits::GoAhead && request.wait_until.is_some_and(ends_soon) {
            self.pace.ahead();
        } else {
            self.pace.turn().await;
        }
        if let Some(names) = &self.names {
            names.add(&request.name);
        }
        let lease = self.noted(self.inner.acquire(request)).await?;
        self.meter.grants.fetch_add(1, Ordering::Relaxed);
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        // K3: a renewal that waits may come too late.
        self.pace.ahead();
        self.timed(self.inner.renew(lease)).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.pace.ahead();
        self.timed(self.inner.release(lease)).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.pace.turn().await;
        self.timed(self.inner.inspect(name)).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
