//! The last contact with a server: whether the next one at its address is the same or its successor.

use std::sync::atomic::{AtomicU64, Ordering};

use dlock_core::{BootInstant, Result, toolkit::Lock};

use crate::{
    conn::{
        connect::Address,
        history::{Former, History},
    },
    errors,
};

/// The address and history of the server that answered last, and when that was.
#[derive(Default)]
pub(super) struct LastContact {
    server: Lock<Option<(Address, History)>>,
    /// The time of the last contact, in nanoseconds.
    at: AtomicU64,
}

impl LastContact {
    /// Notes a reply of the server.
    pub(super) fn touch(&self, now: BootInstant) {
        self.at.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    /// Refuses a server that is independent of the former one at this address.
    ///
    /// One at another address was named by the Sentinels. So it is the successor, though a replica that was
    /// promoted lacks the record of the former one if it was behind; its own history guards it (K6).
    pub(super) fn follow(
        &self,
        address: (&str, u16),
        history: &History,
        now: BootInstant,
    ) -> Result<()> {
        let mut known = self.server.lock();
        if let Some(((host, port), history_before)) = known.take_if(|(at, _)| is_same(at, address))
        {
            let former = Former {
                history: history_before,
                contact: BootInstant::from_nanos(self.at.load(Ordering::Relaxed)),
            };
            if history.is_independent_of(&former, now) {
                *known = Some(((host, port), former.history));
                return Err(errors::two_servers());
            }
        }
        *known = Some((owned(address), history.clone()));
        self.touch(now);
        Ok(())
    }

    /// Replaces the history without a comparison: the nodes of a Cluster identify each other.
    pub(super) fn replace(&self, address: (&str, u16), history: &History, now: BootInstant) {
        *self.server.lock() = Some((owned(address), history.clone()));
        self.touch(now);
    }
}

fn is_same((host, port): &Address, other: (&str, u16)) -> bool {
    (host.as_str(), *port) == other
}

fn owned((host, port): (&str, u16)) -> Address {
    (host.to_owned(), port)
}
