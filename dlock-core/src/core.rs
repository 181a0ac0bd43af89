//! What all clones of a locker, its guards and its attempts share.

use std::{fmt, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    capabilities::Capabilities,
    clock::Clock,
    error::{Error, ErrorKind},
    gate::Gate,
    lock::DistributedLock,
    meters::Meters,
    reaper::Reaper,
    renewal::Schedule,
};

pub(crate) struct Core {
    pub(crate) backend: Arc<dyn DistributedLock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    pub(crate) ttl: Duration,
    pub(crate) wait: Duration,
    pub(crate) token_base: u64,
    pub(crate) gate: Gate,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) reaper: Reaper,
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
