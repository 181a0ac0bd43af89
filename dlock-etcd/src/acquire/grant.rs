//! The grant of a lock: the only place where an attempt's key becomes a hold.

use std::sync::Arc;

use dlock_core::{
    Result, Token,
    backend::{AcquireRequest, Lease},
};

use crate::{
    acquire::undo::undo,
    errors,
    hold::{
        Hold,
        prove::{ProofRequest, Proved, Purpose, prove},
    },
    queue::key::QueueKey,
    shared::Shared,
    watch::registry::Target,
};

/// Grants the lock to the first key of a queue, which was created in revision `created`.
///
/// Proves first that the key's lease is alive: after a long wait, or near the end of the lease, it takes a
/// keep-alive (K2). A key that cannot be granted is undone.
pub(super) async fn grant(
    shared: &Shared,
    request: &AcquireRequest,
    key: Arc<QueueKey>,
    created: i64,
) -> Result<Lease> {
    let proof = ProofRequest {
        key: &key,
        created,
        ttl: request.ttl,
        renewal: request.renewal,
        purpose: Purpose::Grant,
    };
    let proved = match prove(&shared.leases, &proof).await {
        Ok(proved) => proved,
        Err(error) => return Err(undo(key, request, true, error).await),
    };
    let token = u64::try_from(created).ok().and_then(Token::new);
    let (Some(Proved { sent, granted, .. }), Some(token)) = (proved, token) else {
        return Err(undo(key, request, true, errors::lease_ended()).await);
    };
    if !key.claim() {
        return Err(errors::unpolled());
    }
    let target = Target::Holder {
        attempt: request.attempt.clone(),
        value: key.shared_value(),
    };
    let watched = shared.watches.watch(&*key.keys.own, created + 1, target);
    key.leases.set_holding(&request.attempt);
    let hold = Arc::new(Hold::new(key, created, watched));
    shared.holds.insert(request.attempt.id(), hold.clone());
    Ok(request.granted(sent, granted, token, hold))
}
