//! What all clones of a locker, its guards and its attempts share.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    capabilities::Capabilities,
    clock::Clock,
    error::{Error, ErrorKind},
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
    pub(crate) runtime: tokio::runtime::Handle,
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
