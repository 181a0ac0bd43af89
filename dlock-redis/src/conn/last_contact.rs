//! The last contact with a server: whether the next one at its address is the same or its successor.

use std::sync::atomic::{AtomicU64, Ordering};

use dlock_core::{BootInstant, Result, toolkit::Lock};

use crate::{
    conn::history::{Former, History},
    errors,
};

/// The history of the server that answered last, and when that was.
#[derive(Default)]
pub(super) struct LastContact {
    history: Lock<Option<History>>,
    /// The time of the last contact, in nanoseconds.
    at: AtomicU64,
}

impl LastContact {
    /// Notes a reply of the server.
    pub(super) fn touch(&self, now: BootInstant) {
        self.at.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    /// Refuses a server that is independent of the former one at this address.
    pub(super) fn follow(&self, history: &History, now: BootInstant) -> Result<()> {
        let mut known = self.history.lock();
        if let Some(history_before) = known.take() {
            let former = Former {
                history: history_before,
                contact: BootInstant::from_nanos(self.at.load(Ordering::Relaxed)),
            };
            if history.is_independent_of(&former, now) {
                *known = Some(former.history);
                return Err(errors::two_servers());
            }
        }
        *known = Some(history.clone());
        self.touch(now);
        Ok(())
    }

    /// Replaces the history without a comparison: the nodes of a Cluster identify each other.
    pub(super) fn replace(&self, history: &History, now: BootInstant) {
        *self.history.lock() = Some(history.clone());
        self.touch(now);
    }
}
