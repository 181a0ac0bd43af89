//! The end that a migration sets to all holds of a locker, for one who waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::watch;

use crate::base::clock::BootInstant;

/// The end of all holds of a locker once no reading is expected to move it; until then for ever. It outlives the locker.
#[derive(Clone)]
pub(crate) struct HoldsEnd {
    until: Arc<AtomicU64>,
    read: watch::Receiver<u64>,
}

impl HoldsEnd {
    /// The end is `until`, which a reading may move; `read` changes with each reading.
    pub(super) fn new(until: Arc<AtomicU64>, read: watch::Receiver<u64>) -> Self {
        Self { until, read }
    }

    /// The end, unless a reading moves it.
    pub(crate) fn until(&self) -> BootInstant {
        BootInstant::from_nanos(self.until.load(Ordering::Acquire))
    }

    /// Ends with the next reading.
    pub(crate) async fn changed(&mut self) {
        if self.read.changed().await.is_err() {
            // Nothing is read any more.
            std::future::pending::<()>().await;
        }
    }
}
