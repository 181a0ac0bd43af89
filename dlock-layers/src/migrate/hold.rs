//! A lock that is held: its renewal and release in both stores.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{Deadline, Lease, Renewed},
};

use super::{
    request::ANSWER_MAX,
    switch::Switch,
    watch::{Sides, Watch},
};
use crate::part::{Found, Part};

/// An old store that does not count any more is waited for during a renewal for at most this part of the ttl.
const OLD_SHARE: u32 = 10;

/// The two leases of a grant.
#[derive(Debug)]
pub(super) struct Hold {
    /// Missing if the old store was passed over.
    pub(super) old: Option<Arc<Part>>,
    pub(super) new: Arc<Part>,
    pub(super) watch: Arc<Watch>,
    /// Whether a task releases the lock in the old store.
    pub(super) is_release_going_on: AtomicBool,
}

impl Hold {
    pub(super) fn of(lease: &Lease) -> Result<&Self> {
        let other = "the lease is of another backend";
        lease
            .handle()
            .ok_or_else(|| Error::new(ErrorKind::Internal, other))
    }

    /// The deadline of a grant that depends on `sides`: the earlier one (K2).
    pub(super) fn deadline(&self, sides: Sides) -> Deadline {
        let new = self.new.deadline();
        match &self.old {
            Some(old) if sides.has(Sides::OLD) => new.min(old.deadline()),
            _ => new,
        }
    }

    /// Renews both leases. Only those that the grant depends on decide (K3).
    pub(super) async fn renew(&self, switch: &Switch) -> Result<Renewed> {
        if !self.watch.required().has(Sides::OLD) {
            return self.renew_new().await;
        }
        let (old, new) = tokio::join!(renew(self.old.as_deref()), self.new.renew());
        match (old, new) {
            (_, Found::Lost(cause)) => Ok(Renewed::Lost(cause)),
            (Found::Held, Found::Held) => Ok(Renewed::Until(self.deadline(Sides::BOTH))),
            // After the switch every other process waits for the new store, too, so this grant may depend on it alone.
            (_, Found::Held) if matches!(switch.is_done().await, Ok(true)) => {
                self.watch.require(Sides::NEW);
                Ok(Renewed::Until(self.deadline(Sides::NEW)))
            }
            (Found::Lost(cause), _) => Ok(Renewed::Lost(cause)),
            (Found::Unknown(error), _) | (_, Found::Unknown(error)) => Err(error),
        }
    }

    /// Renews the lease in the new store, and takes the old one along if it answers soon.
    async fn renew_new(&self) -> Result<Renewed> {
        // Core drops a renewal that takes too long.
        let answer_max = ANSWER_MAX.min(self.new.lease.ttl / OLD_SHARE);
        let old = tokio::time::timeout(answer_max, renew(self.old.as_deref()));
        let (_, new) = tokio::join!(old, self.new.renew());
        match new {
            Found::Held => Ok(Renewed::Until(self.deadline(Sides::NEW))),
            Found::Lost(cause) => Ok(Renewed::Lost(cause)),
            Found::Unknown(error) => Err(error),
        }
    }

    /// Releases both. A release in an old store that does not count any more goes on in the background.
    pub(super) async fn release(&self, switch: &Switch) -> Result<()> {
        let Some(old) = &self.old else {
            return self.new.release().await;
        };
        let is_required = self.watch.required().has(Sides::OLD) && !switch.is_known();
        let release_old = async {
            if is_required {
                return old.release().await;
            }
            match tokio::time::timeout(ANSWER_MAX, old.release()).await {
                Ok(released) => released,
                Err(_) => Err(Error::new(
                    ErrorKind::Unavailable,
                    "the old store does not answer",
                )),
            }
        };
        let (released, new) = tokio::join!(release_old, self.new.release());
        new?;
        let Err(error) = released else { return Ok(()) };
        if is_required && !matches!(switch.is_done().await, Ok(true)) {
            return Err(error);
        }
        // Core may release it again.
        if !self.is_release_going_on.swap(true, Ordering::AcqRel) {
            let old = old.clone();
            tokio::spawn(async move { old.release_until_it_ends().await });
        }
        Ok(())
    }
}

async fn renew(part: Option<&Part>) -> Found {
    match part {
        Some(part) => part.renew().await,
        None => Found::Held,
    }
}
