//! Background work of a locker: releases of dropped guards and ends of dropped acquires.
//!
//! A drop can happen anywhere, so it only sends a message; one task of the locker's runtime takes
//! it from there. The queue is bounded by what is dropped: each guard and each attempt sends one.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    backend::distributed_lock::DistributedLock,
    base::{
        clock::{BootInstant, Clock},
        error::Result,
    },
    engine::metrics::{Metrics, PendingRelease},
    toolkit::backoff::Backoff,
};

/// The time for which releases go on after the last locker, guard and attempt are gone without a shutdown. The
/// backend then has as long to close.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// A grant that the store may still have, after its hold has ended.
pub(crate) trait Unreleased: Send + Sync + 'static {
    /// The time by which the store has ended the grant by itself, as known at `now`.
    fn ends_by(&self, now: BootInstant) -> BootInstant;

    /// Tries once to free the grant in the store.
    fn start_release(self: Arc<Self>) -> Work<Result<()>>;
}

/// Work with everything that it needs.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Job {
    /// Free this grant in the store.
    Release(Arc<dyn Unreleased>, PendingRelease),
    /// Run this to its end.
    Finish(Work<()>),
    /// Answer when all jobs sent before have ended.
    Drain(oneshot::Sender<()>),
    /// The last user of the locker is gone: finish.
    End,
}

/// The sending side. Cheap to clone; never blocks, works off-runtime.
#[derive(Clone)]
pub(crate) struct Cleanup {
    jobs: mpsc::UnboundedSender<Job>,
    retries: Retries,
    metrics: Arc<Metrics>,
}

/// How a release is tried again.
#[derive(Clone)]
struct Retries {
    clock: Clock,
    /// The backend was closed: there is nothing left to release.
    closed: Arc<AtomicBool>,
}

impl Cleanup {
    /// Starts the task on the current runtime. `ended` is cancelled when the task is gone, also with
    /// its runtime.
    pub(crate) fn start(
        backend: Arc<dyn DistributedLock>,
        clock: Clock,
        metrics: Arc<Metrics>,
        ended: CancellationToken,
    ) -> Self {
        let (jobs, inbox) = mpsc::unbounded_channel();
        let closed = Arc::new(AtomicBool::new(false));
        let retries = Retries { clock, closed };
        // The guard is made here: a runtime may end before it polls the task even once.
        tokio::spawn(run(inbox, backend, retries.clone(), ended.drop_guard()));
        Self {
            jobs,
            retries,
            metrics,
        }
    }

    /// Whether its task has ended, also with its runtime.
    pub(crate) fn is_gone(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Waits until its task has ended.
    #[cfg(feature = "blocking")]
    pub(crate) async fn ended(&self) {
        self.jobs.closed().await;
    }

    /// Frees `grant` in the store, in the background.
    pub(crate) fn release(&self, grant: Arc<dyn Unreleased>) {
        // A locker whose runtime is gone cannot release; the lease ends by its ttl.
        let pending = self.metrics.release_pending();
        let _ = self.jobs.send(Job::Release(grant, pending));
    }

    /// Runs `work` to its end, in the background.
    pub(crate) fn finish(&self, work: Work<()>) {
        let _ = self.jobs.send(Job::Finish(work));
    }

    /// Makes tries until one succeeds, until `until`, or until the backend is closed.
    pub(crate) async fn until_confirmed<F>(&self, until: BootInstant, make_try: impl Fn() -> F)
    where
        F: Future<Output = Result<()>>,
    {
        self.retries.until_confirmed(until, make_try).await;
    }

    /// Waits until everything that was sent before is done; at once when the runtime is gone.
    pub(crate) async fn drain(&self) {
        let (done, drained) = oneshot::channel();
        if self.jobs.send(Job::Drain(done)).is_ok() {
            let _ = drained.await;
        }
    }

    /// Finishes what was sent before, within [`CLOSE_MAX`], and closes the backend.
    pub(crate) fn end(&self) {
        let _ = self.jobs.send(Job::End);
    }

    /// Ends the retries: the backend is closed.
    pub(crate) fn stop_retries(&self) {
        self.retries.closed.store(true, Ordering::Release);
    }
}

async fn run(
    mut inbox: mpsc::UnboundedReceiver<Job>,
    backend: Arc<dyn DistributedLock>,
    retries: Retries,
    _ended: DropGuard,
) {
    let mut running = JoinSet::new();
    let mut draining: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = running.join_next() => {}
            job = inbox.recv() => match job {
                Some(Job::Release(grant, pending)) => {
                    running.spawn(retries.clone().release(grant, pending));
                }
                Some(Job::Finish(work)) => {
                    running.spawn(work);
                }
                Some(Job::Drain(done)) => draining.push(done),
                Some(Job::End) | None => break,
            },
        }
        if running.is_empty() {
            for done in draining.drain(..) {
                let _ = done.send(());
            }
        }
    }
    // What a dropped acquire is granted now still has to be released.
    let finish = async {
        while let Some(job) = next_job(&mut inbox, &mut running).await {
            match job {
                Job::Release(grant, pending) => {
                    running.spawn(retries.clone().release(grant, pending));
                }
                Job::Finish(work) => {
                    running.spawn(work);
                }
                Job::Drain(_) | Job::End => {}
            }
        }
    };
    let _ = timeout(CLOSE_MAX, finish).await;
    if !retries.closed.swap(true, Ordering::AcqRel) {
        let _ = timeout(CLOSE_MAX, backend.close()).await;
    }
}

/// The next job as long as there is one or something runs that may send one.
async fn next_job(
    inbox: &mut mpsc::UnboundedReceiver<Job>,
    running: &mut JoinSet<()>,
) -> Option<Job> {
    loop {
        if let Ok(job) = inbox.try_recv() {
            return Some(job);
        }
        if running.is_empty() {
            return None;
        }
        // What runs may wait for what it sends.
        tokio::select! {
            biased;
            Some(job) = inbox.recv() => return Some(job),
            _ = running.join_next() => {}
        }
    }
}

impl Retries {
    /// K4: retried until it is confirmed, or until the lease that carries the entry has ended.
    async fn release(self, grant: Arc<dyn Unreleased>, _pending: PendingRelease) {
        let until = grant.ends_by(self.clock.now());
        self.until_confirmed(until, || grant.clone().start_release())
            .await;
    }

    async fn until_confirmed<F>(&self, until: BootInstant, make_try: impl Fn() -> F)
    where
        F: Future<Output = Result<()>>,
    {
        let mut backoff = Backoff::new();
        while let Err(error) = make_try().await {
            if self.closed.load(Ordering::Acquire) || self.clock.now() >= until {
                tracing::warn!(%error, "gave up a release");
                break;
            }
            tracing::debug!(%error, "a release is not confirmed yet");
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }
}
