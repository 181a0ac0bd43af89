//! A lock that is held: its renewal and release in both stores.

use std::sync::Arc;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{Deadline, Lease, Renewed},
};

use super::{
    old_store::ANSWER_MAX,
    switch::Switch,
    watch::{Sides, Watch},
};
use crate::part::{Found, Part};

/// The two leases of a grant.
#[derive(Debug)]
pub(super) struct Hold {
    /// Missing if the old store was passed over.
    pub(super) old: Option<Arc<Part>>,
    pub(super) new: Arc<Part>,
    pub(super) watch: Arc<Watch>,
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
            (_, Found::Lost(cause)) | (Found::Lost(cause), _) => Ok(Renewed::Lost(cause)),
            (_, Found::Unknown(error)) => Err(error),
            (Found::Held, Found::Held) => Ok(Renewed::Until(self.deadline(Sides::BOTH))),
            (Found::Unknown(error), Found::Held) => {
                // After the switch every other process waits for the new store, too, so this grant may depend on it alone.
                if !matches!(switch.is_done().await, Ok(true)) {
                    return Err(error);
                }
                self.watch.require(Sides::NEW);
                Ok(Renewed::Until(self.deadline(Sides::NEW)))
            }
        }
    }

    /// Renews the lease in the new store, and takes the old one along if it answers soon.
    async fn renew_new(&self) -> Result<Renewed> {
        let old = tokio::time::timeout(ANSWER_MAX, renew(self.old.as_deref()));
        let (_, new) = tokio::join!(old, self.new.renew());
        match new {
            Found::Held => Ok(Renewed::Until(self.deadline(Sides::NEW))),
            Found::Lost(cause) => Ok(Renewed::Lost(cause)),
            Found::Unknown(error) => Err(error),
        }
    }

    /// Releases both. A release in an old store that does not count any more goes on in the background.
    pub(super) async fn release(&self) -> Result<()> {
        let Some(old) = &self.old else {
            return self.new.release().await;
        };
        if self.watch.required().has(Sides::OLD) {
            let (old, new) = tokio::join!(old.release(), self.new.release());
            return new.and(old);
        }
        let in_time = tokio::time::timeout(ANSWER_MAX, old.release());
        let (released, new) = tokio::join!(in_time, self.new.release());
        if !matches!(released, Ok(Ok(()))) {
            let old = old.clone();
            tokio::spawn(async move { old.release_until_it_ends().await });
        }
        new
    }
}

async fn renew(part: Option<&Part>) -> Found {
    match part {
        Some(part) => part.renew().await,
        None => Found::Held,
    }
}
