//! One attempt that does not wait.

use std::sync::Arc;

use dlock_core::{
    Effect, Error, Result,
    backend::{AcquireRequest, Lease},
};

use crate::{
    acquire::{grant::grant, undo::undo},
    errors, keys,
    lease::poll_watchdog::PollWatchdog,
    queue::{key::QueueKey, position::Position},
    ranges::first_of_queue,
    shared::Shared,
};

/// An existing lease may have ended; a second one has not.
const LEASES_MAX: u32 = 2;

/// Takes the lock if it is free; writes nothing if it is taken.
pub(super) async fn try_acquire(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Result<Lease> {
    let mut existing = shared.leases.existing(request.ttl, request.renewal);
    if existing.is_none() && is_taken(shared, request).await? {
        // A new lease would be a write.
        return Err(Error::contended());
    }
    for _ in 0..LEASES_MAX {
        let lease = match existing.take() {
            Some(existing) => existing,
            None => shared.leases.get_for(request).await?,
        };
        let key = QueueKey::new(&shared.queue, lease, request, watchdog);
        match key.create_if_first().await {
            Ok(Position::First(created)) => return grant(shared, request, key, created).await,
            // The lease had ended before we knew, so nothing was written.
            Ok(Position::LeaseGone) if key.claim() => key.retire_key(),
            Ok(Position::LeaseGone) => return Err(errors::unpolled()),
            Ok(Position::Behind { .. } | Position::Absent) => {
                // A try whose reply is lost may yet find the lock free (K9).
                let may_exist = key.is_effect_unknown();
                return Err(undo(key, request, may_exist, Error::contended()).await);
            }
            Err(error) => {
                let may_exist = error.effect() == Effect::Unknown;
                return Err(undo(key, request, may_exist, error).await);
            }
        }
    }
    Err(errors::lease_ended())
}

async fn is_taken(shared: &Shared, request: &AcquireRequest) -> Result<bool> {
    let queue = keys::queue(&shared.members.config.prefix, &request.name);
    let options = first_of_queue().with_keys_only();
    let first = shared.members.request(|client| {
        let (queue, options) = (queue.clone(), options.clone());
        async move { client.kv_client().get(queue, Some(options)).await }
    });
    Ok(!first.await?.kvs().is_empty())
}
