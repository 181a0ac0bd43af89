//! Background work of a locker: releases of dropped guards and ends of dropped acquires.
//!
//! A drop can happen anywhere, so it only sends a message; one task of the locker's runtime takes
//! it from there. The queue is bounded by what is dropped: each guard and each attempt sends one.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    capabilities::Expiry,
    clock::{BootInstant, Clock},
    core::Core,
    error::Result,
    hold::{Hold, contained, in_time},
    lock::DistributedLock,
};

/// After an unconfirmed release the next try comes after this,
const RETRY_MIN: Duration = Duration::from_millis(50);

/// which doubles up to this.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// When a whole ttl and this have passed since the hold ended, its lease has ended in the store.
const LEASE_SLACK: Duration = Duration::from_secs(1);

/// How long releases go on after the last locker, guard and attempt are gone without a shutdown, and
/// how long the backend then has to close.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Counts the attempts and the releases that are on their way, so that a shutdown can wait for them.
#[derive(Default)]
pub(crate) struct Flights {
    count: AtomicUsize,
    landed: Notify,
}

/// One of them, until it is dropped.
pub(crate) struct Airborne(Arc<Flights>);

impl Flights {
    pub(crate) fn launch(self: &Arc<Self>) -> Airborne {
        self.count.fetch_add(1, Ordering::AcqRel);
        Airborne(self.clone())
    }

    pub(crate) async fn all_landed(&self) {
        loop {
            let mut landed = pin!(self.landed.notified());
            landed.as_mut().enable();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            landed.await;
        }
    }
}

impl Drop for Airborne {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.landed.notify_waiters();
        }
    }
}

/// An acquire that is on its way, with everything that it needs.
pub(crate) type Flight<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Job {
    /// Free this hold in the store.
    Release(Arc<Hold>),
    /// Run this to its end.
    Finish(Flight<()>),
    /// Say when all that came before is done.
    Drain(oneshot::Sender<()>),
    /// Nobody can ask for anything any more: finish.
    End,
}

/// The sending side. Cheap to clone; never blocks, works off-runtime.
#[derive(Clone)]
pub(crate) struct Reaper {
    jobs: mpsc::UnboundedSender<Job>,
    /// The backend was closed: there is nothing left to release.
    closed: Arc<AtomicBool>,
}

impl Reaper {
    /// Starts the task on the current runtime. `ended` is cancelled when the task is gone, also with
    /// its runtime.
    pub(crate) fn start(backend: Arc<dyn DistributedLock>, ended: CancellationToken) -> Self {
        let (jobs, inbox) = mpsc::unbounded_channel();
        let closed = Arc::new(AtomicBool::new(false));
        // The guard is made here: a runtime may end before it polls the task even once.
        tokio::spawn(run(inbox, backend, closed.clone(), ended.drop_guard()));
        Self { jobs, closed }
    }

    /// Whether its task has ended, also with its runtime.
    pub(crate) fn is_gone(&self) -> bool {
        self.jobs.is_closed()
    }

    pub(crate) fn release(&self, hold: Arc<Hold>) {
        // A locker whose runtime is gone cannot release; the lease ends by its ttl.
        let _ = self.jobs.send(Job::Release(hold));
    }

    pub(crate) fn finish(&self, flight: Flight<()>) {
        let _ = self.jobs.send(Job::Finish(flight));
    }

    /// Tries `clear` as a release is tried, until `over` at most. What is returned gets nothing, and ends
    /// when that has ended, also with the runtime.
    pub(crate) fn undo<C, F>(core: Arc<Core>, over: BootInstant, clear: C) -> oneshot::Receiver<()>
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (done, undone) = oneshot::channel::<()>();
        // A shutdown waits for it.
        let airborne = core.flights.launch();
        let (home, closed) = (core.clone(), core.reaper.closed.clone());
        core.reaper.finish(Box::pin(async move {
            let _until_then = (airborne, done);
            let clear = || in_time(contained(clear()));
            until_confirmed(&home.clock, &closed, over, clear).await;
        }));
        undone
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
    pub(crate) fn give_up(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

async fn run(
    mut inbox: mpsc::UnboundedReceiver<Job>,
    backend: Arc<dyn DistributedLock>,
    closed: Arc<AtomicBool>,
    _ended: DropGuard,
) {
    let mut running = JoinSet::new();
    let mut draining: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        tokio::select! {
            job = inbox.recv() => match job {
                Some(Job::Release(hold)) => {
                    running.spawn(release_until_confirmed(hold, closed.clone()));
                }
                Some(Job::Finish(flight)) => {
                    running.spawn(flight);
                }
                Some(Job::Drain(done)) => draining.push(done),
                Some(Job::End) | None => break,
            },
            Some(_) = running.join_next() => {}
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
                Job::Release(hold) => {
                    running.spawn(release_until_confirmed(hold, closed.clone()));
                }
                Job::Finish(flight) => {
                    running.spawn(flight);
                }
                Job::Drain(_) | Job::End => {}
            }
        }
    };
    let _ = timeout(CLOSE_MAX, finish).await;
    if !closed.swap(true, Ordering::AcqRel) {
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
            Some(job) = inbox.recv() => return Some(job),
            _ = running.join_next() => {}
        }
    }
}

/// K4: retried until it is confirmed, or until the lease that carries the entry has ended.
async fn release_until_confirmed(hold: Arc<Hold>, closed: Arc<AtomicBool>) {
    let clock = &hold.core.clock;
    let over = match hold.core.capabilities.expiry {
        Expiry::Lease => clock.now().after(hold.lease.ttl).after(LEASE_SLACK),
        // An entry on a session lives as long as the session; the backend confirms when that is over.
        Expiry::Session | Expiry::Process => BootInstant::FOREVER,
    };
    until_confirmed(clock, &closed, over, || hold.try_release()).await;
}

/// Tries until the store has confirmed it, until `over`, or until the backend is closed.
async fn until_confirmed<F>(
    clock: &Clock,
    closed: &AtomicBool,
    over: BootInstant,
    frees: impl Fn() -> F,
) where
    F: Future<Output = Result<()>>,
{
    let mut pause = RETRY_MIN;
    while let Err(error) = frees().await {
        if closed.load(Ordering::Acquire) || clock.now() >= over {
            tracing::warn!(%error, "gave up a release");
            break;
        }
        tracing::debug!(%error, "a release is not confirmed yet");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY_MAX);
    }
}
