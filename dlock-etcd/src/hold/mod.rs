//! What a lease is found by.

pub(crate) mod prove;
pub(crate) mod verify;

use std::sync::Arc;

use dlock_core::{backend::Lease, toolkit::Lock};

use crate::{queue::key::Entry, watch::registry::Watched};

/// A place that holds a lock.
pub(crate) struct Held {
    pub(crate) entry: Arc<Entry>,
    /// The revision in which it was made.
    pub(crate) made: i64,
    watched: Lock<Option<Watched>>,
}

impl Held {
    pub(crate) fn new(entry: Arc<Entry>, made: i64, watched: Watched) -> Self {
        Self {
            entry,
            made,
            watched: Lock::new(Some(watched)),
        }
    }

    /// That of a lease; `None` if it is another backend's.
    pub(crate) fn of(lease: &Lease) -> Option<&Arc<Self>> {
        lease.handle()
    }

    /// Our own delete is no loss.
    pub(crate) fn stop_watching(&self) {
        let mut watched = self.watched.lock();
        *watched = None;
    }
}
