//! What all clones of a locker, its guards and its attempts share.

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

use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    capabilities::Capabilities,
    clock::Clock,
    error::{Effect, Error, ErrorKind, Result},
    gate::Gate,
    lock::DistributedLock,
    meters::Meters,
    reaper::{Flights, Reaper},
    renewal::Schedule,
};

/// A locker, guard or acquire that the user has. When the last one goes, the reaper ends the locker;
/// holds and attempts that are only being cleaned up have the [`Core`] itself.
pub(crate) struct User(Arc<Core>);

impl User {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        core.users.fetch_add(1, Ordering::AcqRel);
        Self(core)
    }
}

impl Clone for User {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Deref for User {
    type Target = Arc<Core>;

    fn deref(&self) -> &Arc<Core> {
        &self.0
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.reaper.end();
        }
    }
}

pub(crate) struct Core {
    /// How many [`User`]s there are.
    pub(crate) users: AtomicUsize,
    pub(crate) backend: Arc<dyn DistributedLock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    pub(crate) ttl: Duration,
    pub(crate) wait: Duration,
    pub(crate) token_base: u64,
    pub(crate) gate: Gate,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) reaper: Reaper,
    pub(crate) flights: Arc<Flights>,
    pub(crate) runtime: Handle,
    pub(crate) meters: Meters,
    /// Cancelled by a shutdown, and when the runtime that the locker lives in is gone.
    pub(crate) closed: CancellationToken,
}

impl Core {
    /// Why nothing is granted any more.
    pub(crate) fn closed_error(&self) -> Error {
        let why = "the locker was shut down, or the runtime that it was made in has ended";
        Error::new(ErrorKind::Unavailable, why)
    }

    /// Asks the backend in the runtime that the locker lives in, wherever the user calls from: what
    /// the backend shares among all locks, such as a connection or a request that many leave with,
    /// would stand still with a runtime that is not driven, and end with one that ends (K13).
    ///
    /// Dropping the future drops `work`.
    pub(crate) async fn at_home<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let is_home = Handle::try_current().is_ok_and(|here| here.id() == self.runtime.id());
        // Nothing is shared any more when the home is gone: then the user's is as good.
        if is_home || self.reaper.is_gone() {
            return work.await;
        }
        let working = AbortOnDropHandle::new(self.runtime.spawn(work));
        working.await.unwrap_or_else(|gone| {
            let why = "the locker's runtime has ended";
            let error = Error::new(ErrorKind::Unavailable, why).with_source(gone);
            Err(error.with_effect(Effect::Unknown))
        })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.schedule.stop();
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("backend", &self.backend)
            .field("ttl", &self.ttl)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
