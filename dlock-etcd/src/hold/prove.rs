//! The proof that a lock is held, and the move to another lease after an election.
//!
//! A leader that slept for longer than a ttl takes the leases that it knows for expired when it wakes up.
//! It has them revoked before it hears of the later leader, which kept them alive. But it does not
//! know leases that were granted after it fell asleep. So a lease proves a hold only as long as no later
//! leader than the one that granted it may have kept it alive. After an election each held lock moves to
//! a new lease by a put, which keeps the key's create revision and so the token.
//!
//! Why that is enough. Let `T` be a term that was known before the lease was requested, and let the leader
//! of term `a` confirm a keep-alive. A linearizable read that began after that shows the term `T` again, so
//! `a ≤ T`. A leader that revokes the lease knows it, and so is of a term `r ≥ T`. If `r = a`, its clock
//! for the lease began with our keep-alive or later. If `r > a`, it leads since after the read, and its
//! clock began then. Either way it revokes the lease after our deadline (K2).

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Result,
    backend::{Renewal, SentAt},
    toolkit::Backoff,
};

use crate::{
    errors,
    lease::{
        etcd_lease::{EtcdLease, LeaseProof},
        pool::LeasePool,
    },
    queue::key::QueueKey,
};

/// A key moves again when the leader changes again, or when a move has no reply; not for ever.
const MOVES_MAX: u32 = 4;

/// The event for which a hold is proved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Grant,
    Renewal,
}

/// A hold to be proved.
pub(crate) struct ProofRequest<'a> {
    pub(crate) key: &'a Arc<QueueKey>,
    /// The revision in which the key was created.
    pub(crate) created: i64,
    pub(crate) ttl: Duration,
    pub(crate) renewal: Renewal,
    pub(crate) purpose: Purpose,
}

/// The proof that the store keeps a key.
pub(crate) struct Proved {
    /// The send time of the request that proves the hold.
    pub(crate) sent: SentAt,
    /// How long the store keeps the key from then on.
    pub(crate) granted: Duration,
    /// Whether the key has moved to another lease.
    pub(crate) has_moved: bool,
}

/// Proves a hold, on another lease if needed; `None` when the key or its lease is gone.
///
/// Dropped before its end, it leaves open which of two leases has the key. Both are kept then, and the next
/// call finds out.
pub(crate) async fn prove(
    leases: &LeasePool,
    request: &ProofRequest<'_>,
) -> Result<Option<Proved>> {
    let (attached, mut backoff) = (&request.key.leases, Backoff::new());
    let mut has_moved = false;
    for tried in 1..=MOVES_MAX {
        if !attached.is_moving() {
            let lease = attached.current();
            match request.proof_of(&lease).await? {
                LeaseProof::Since(sent) => {
                    return Ok(Some(Proved {
                        sent,
                        granted: lease.granted_ttl,
                        has_moved,
                    }));
                }
                LeaseProof::Ended => return Ok(None),
                LeaseProof::Outdated => {}
            }
        }
        match Box::pin(change_lease(leases, request)).await {
            Ok(true) => has_moved = true,
            Ok(false) => return Ok(None),
            Err(error) if tried < MOVES_MAX && error.is_retryable() => {
                tracing::debug!(%error, "a key has not moved to another lease yet");
                tokio::time::sleep(backoff.next_pause()).await;
            }
            Err(error) => return Err(error),
        }
    }
    Err(errors::lease_ended())
}

/// Moves the key to another lease; false if the key is gone.
async fn change_lease(leases: &LeasePool, request: &ProofRequest<'_>) -> Result<bool> {
    let (key, attached) = (request.key, &request.key.leases);
    // The target of an unconfirmed move is as good as a new lease.
    if !attached.is_moving() || !attached.current().is_open() {
        let lease = leases.get(request.ttl, request.renewal).await?;
        attached.begin_move(lease);
        if matches!(request.purpose, Purpose::Grant) {
            let waiter = Arc::downgrade(key);
            attached.set_waiting(waiter);
        }
    }
    let is_there = key.move_to(&attached.current(), request.created).await?;
    let former = attached.confirm_move();
    if key.owns_lease {
        for lease in former {
            // Unused from now on; without the revoke it would end by itself.
            tokio::spawn(async move { lease.revoke_until_confirmed().await });
        }
    }
    Ok(is_there)
}

impl ProofRequest<'_> {
    async fn proof_of(&self, lease: &EtcdLease) -> Result<LeaseProof> {
        match (self.renewal, self.purpose) {
            (Renewal::Auto, _) => Ok(lease.recent_proof(self.ttl).await),
            (Renewal::None, Purpose::Renewal) => Box::pin(lease.keep_alive_once()).await,
            (Renewal::None, Purpose::Grant) => Box::pin(lease.unrenewed_proof(self.ttl)).await,
        }
    }
}
