//! The lease of a node that is the first of its queue: how long it is proved.

use std::sync::Arc;

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Lease, Renewal, Wait},
};

use crate::{
    errors,
    hold::Hold,
    keys,
    liveness::proof::Proof,
    session::{Session, holds::HeldNode},
};

/// A proof is renewed before the grant if more than this part is over of the time that the lock lasts after it.
const FRESH_PART: u32 = 2;

/// The same for a lock without renewal.
const FRESH_PART_NO_RENEWAL: u32 = 12;

/// Makes the lease. It counts from the creation of the node if that was just now, else from the last heartbeat.
pub(super) async fn grant(
    session: &Arc<Session>,
    request: &AcquireRequest,
    node: Arc<HeldNode>,
) -> Result<Lease> {
    // Boxed: the futures of acquires stay small.
    let proof = Box::pin(fresh_proof(session, request)).await?;
    let token = keys::token(node.czxid)?;
    let hold = Hold::new(session.clone(), node.clone());
    let lease = request.granted(proof.sent, proof.ttl, token, hold);
    node.set_deadline(proof.sent.instant(), lease.deadline.instant());
    if session.hold(&node) {
        Ok(lease)
    } else {
        Err(errors::session_ended())
    }
}

/// A proof that is fresh; an attempt that waits also waits for that (K6).
async fn fresh_proof(session: &Session, request: &AcquireRequest) -> Result<Proof> {
    let ttl = session.liveness.times.ttl().min(request.ttl);
    let fresh = match request.renewal {
        Renewal::Auto => ttl / FRESH_PART,
        // No renewal makes it longer later: it begins with the grant (K6).
        Renewal::None => ttl / FRESH_PART_NO_RENEWAL,
    };
    let waits = request.wait == Wait::UntilCancelled;
    loop {
        let proof = tokio::select! {
            proof = session.proof_after(session.clock.now().before(fresh)) => proof,
            () = request.attempt.cancelled() => return Err(Error::cancelled()),
        };
        match proof {
            Err(error) if waits && !session.has_ended() => {
                request.attempt.report_unavailable(&error);
            }
            proof => return proof,
        }
    }
}
