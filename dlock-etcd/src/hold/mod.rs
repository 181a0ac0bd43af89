//! The handle of a lease: a key that holds a lock, its renewal and its release.

use std::{collections::HashMap, sync::Arc};

use dlock_core::{
    AttemptId, LostCause, Result,
    backend::{Lease, Renewed},
    toolkit::Lock,
};

use crate::{
    hold::{
        prove::{ProofRequest, Purpose, prove},
        verify::KeyVerifier,
    },
    lease::pool::LeasePool,
    queue::key::QueueKey,
    watch::Watched,
};

pub(crate) mod prove;
pub(crate) mod verify;

/// A key that holds a lock.
pub(crate) struct Hold {
    pub(crate) key: Arc<QueueKey>,
    /// The revision in which the key was created.
    pub(crate) created: i64,
    watched: Lock<Option<Watched>>,
}

impl Hold {
    pub(crate) fn new(key: Arc<QueueKey>, created: i64, watched: Watched) -> Self {
        Self {
            key,
            created,
            watched: Lock::new(Some(watched)),
        }
    }

    /// The hold of a lease; `None` if the lease is another backend's.
    pub(crate) fn of(lease: &Lease) -> Option<&Arc<Self>> {
        lease.handle()
    }

    /// Proves that the lock is still held: its etcd lease is alive, and its key exists.
    pub(crate) async fn renew(
        &self,
        lease: &Lease,
        leases: &LeasePool,
        verifier: &KeyVerifier,
    ) -> Result<Renewed> {
        let request = ProofRequest {
            key: &self.key,
            created: self.created,
            ttl: lease.ttl,
            renewal: lease.renewal,
            purpose: Purpose::Renewal,
        };
        let Some(proved) = prove(leases, &request).await? else {
            return Ok(Renewed::Lost(LostCause::SessionEnded));
        };
        if proved.has_moved {
            self.key.leases.set_holding(&lease.attempt);
        }
        let created = match verifier.read(&self.key.keys.own).await? {
            Some(found) if !self.key.has_own_value(&found) => {
                return Ok(Renewed::Lost(LostCause::Taken));
            }
            found => found.map_or(0, |found| found.create_revision()),
        };
        if created != self.created {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        Ok(lease.renewed(proved.sent, proved.granted))
    }

    /// Deletes the key. Neither our own deletion nor the end of the etcd lease is a loss after that.
    pub(crate) async fn release(&self) -> Result<()> {
        self.stop_watching();
        self.key.leases.release();
        self.key.remove().await
    }

    fn stop_watching(&self) {
        let mut watched = self.watched.lock();
        *watched = None;
    }
}

/// The held locks of one backend.
#[derive(Default)]
pub(crate) struct Holds(Lock<HashMap<AttemptId, Arc<Hold>>>);

impl Holds {
    pub(crate) fn insert(&self, attempt: AttemptId, hold: Arc<Hold>) {
        self.0.lock().insert(attempt, hold);
    }

    pub(crate) fn remove(&self, attempt: AttemptId) {
        self.0.lock().remove(&attempt);
    }

    /// Deletes the keys whose leases have not ended: those with a lease of their own.
    pub(crate) async fn remove_all(&self) -> Result<()> {
        let holds = std::mem::take(&mut *self.0.lock());
        let mut result = Ok(());
        for hold in holds.into_values() {
            hold.stop_watching();
            if !hold.key.leases.have_ended() {
                result = result.and(hold.key.remove().await);
            }
        }
        result
    }
}
