//! The state that all clones of a locker, its guards and its attempts share.

use std::{
    fmt,
    future::Future,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::{either::Either, sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    backend::{
        capabilities::Capabilities,
        distributed_lock::DistributedLock,
        request::{Background, Undo},
    },
    base::{
        clock::{BootInstant, Clock},
        error::{Effect, Error, ErrorKind, Result},
    },
    engine::{
        call::{catch_panic, release_in_time},
        cleanup::Cleanup,
        in_flight::InFlight,
        local_queue::LocalQueue,
        metrics::Metrics,
        migration_watch::MigrationWatch,
        renewals::Renewals,
        scheduler::Scheduler,
    },
};

/// A locker, guard or acquire that the user has. When the last one goes, the clean-up ends the locker;
/// holds and attempts that are only being cleaned up have the [`Shared`] itself.
pub(crate) struct UserRef(Arc<Shared>);

impl UserRef {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.users.fetch_add(1, Ordering::AcqRel);
        Self(shared)
    }
}

impl Clone for UserRef {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Deref for UserRef {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl fmt::Debug for UserRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for UserRef {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.cleanup.end();
        }
    }
}

pub(crate) struct Shared {
    /// How many [`UserRef`]s there are.
    pub(crate) users: AtomicUsize,
    pub(crate) backend: Arc<dyn DistributedLock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    pub(crate) ttl: Duration,
    pub(crate) wait: Duration,
    pub(crate) token_base: u64,
    pub(crate) local_queue: LocalQueue,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) cleanup: Cleanup,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) runtime: Handle,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) renewals: Arc<Renewals>,
    /// `None` if the store keeps no record of a migration, or a layer reads it.
    pub(crate) migration: Option<Arc<MigrationWatch>>,
    /// The end of the locker: cancelled by a shutdown, and when the runtime that the locker lives in is gone.
    pub(crate) closed: CancellationToken,
}

impl Shared {
    /// The error of a locker that grants nothing any more.
    pub(crate) fn closed_error(&self) -> Error {
        let why = "the locker was shut down, or the runtime that it was made in has ended";
        Error::new(ErrorKind::Unavailable, why)
    }

    /// Runs `work` of the backend, from now on, in the runtime that the locker lives in, wherever the user calls from. A
    /// backend shares connections and batches among all locks. In another runtime they would stall while it
    /// is not driven, and end when it ends (K13).
    ///
    /// Dropping the future drops `work`.
    pub(crate) fn on_home_runtime<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Result<T>> + Send + 'static,
    {
        let is_home = Handle::try_current().is_ok_and(|here| here.id() == self.runtime.id());
        // Nothing is shared any more when the home is gone: then the user's is as good.
        if is_home || self.cleanup.is_gone() {
            return Either::Left(work);
        }
        let working = AbortOnDropHandle::new(self.runtime.spawn(work));
        Either::Right(async move {
            working.await.unwrap_or_else(|gone| {
                let why = "the locker's runtime has ended";
                let error = Error::new(ErrorKind::Unavailable, why).with_source(gone);
                Err(error.with_effect(Effect::Unknown))
            })
        })
    }
}

impl Background for Shared {
    fn undo(self: Arc<Self>, until: BootInstant, undo: Undo) -> oneshot::Receiver<()> {
        let (done, undone) = oneshot::channel();
        // A shutdown waits for it.
        let in_flight = self.in_flight.track();
        let shared = self.clone();
        self.cleanup.finish(Box::pin(async move {
            let _until_then = (in_flight, done);
            // Dropped before them: a shutdown waits for what that begins, too.
            let undo = undo;
            let make_try = || release_in_time(catch_panic(undo()));
            shared.cleanup.until_confirmed(until, make_try).await;
        }));
        undone
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.scheduler.stop();
        if let Some(watch) = &self.migration {
            watch.stop();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locker")
            .field("backend", &self.backend)
            .field("ttl", &self.ttl)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
