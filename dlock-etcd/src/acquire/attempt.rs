//! One try of an attempt: a key in the queue, which is granted if it is the first.

use std::sync::Arc;

use dlock_core::{
    Effect, Error, Result,
    backend::{AcquireRequest, Lease, Renewal},
};

use crate::{
    acquire::{grant::grant, undo::undo},
    errors, keys,
    lease::poll_watchdog::PollWatchdog,
    queue::{key::QueueKey, position::Position},
    ranges::holder_of,
    shared::Shared,
};

/// An existing lease may have ended; a second one has not.
const LEASES_MAX: u32 = 2;

/// The result of a try of an attempt that waits.
pub(super) type Tried = Result<Lease, NotGranted>;

/// The state of an attempt that has no grant yet.
pub(super) enum NotGranted {
    /// There is no key: there was no lease for it, or the attempt is cancelled.
    NoKey(Error),
    /// The key may be in the queue: its position, or why that is not known.
    Queued(Arc<QueueKey>, Result<Position>),
    /// The key came first and was not granted. It is undone.
    Undone(Error),
}

/// Takes the lock if it is free, and else enqueues for it.
pub(super) async fn enqueue(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Tried {
    let lease = shared.leases.get_for(request).await;
    let lease = lease.map_err(NotGranted::NoKey)?;
    let key = QueueKey::new(&shared.queue, lease, request, watchdog);
    if request.attempt.is_cancelled() {
        let error = undo(key, request, false, Error::cancelled()).await;
        return Err(NotGranted::NoKey(error));
    }
    let position = tokio::select! {
        biased;
        position = key.enqueue() => position,
        () = until_lease_ends(request, &key) => Ok(Position::LeaseGone),
    };
    match position {
        Ok(Position::First(created)) => {
            let granted = grant(shared, request, key, created).await;
            granted.map_err(NotGranted::Undone)
        }
        position => Err(NotGranted::Queued(key, position)),
    }
}

/// Completes when the lease of the key ends; keeps a lease of its own alive until then.
pub(super) async fn until_lease_ends(request: &AcquireRequest, key: &QueueKey) {
    match request.renewal {
        Renewal::Auto => key.lease.ending().await,
        Renewal::None => drop(Box::pin(key.lease.keep_alive(|| true)).await),
    }
}

/// Takes the lock if it is free; writes nothing if it is taken.
pub(super) async fn try_acquire(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Result<Lease> {
    let mut existing = shared.leases.existing(request.ttl, request.renewal);
    if existing.is_none() && Box::pin(is_taken(shared, request)).await? {
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
            Ok(Position::Behind { .. } | Position::Taken { .. } | Position::Absent) => {
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
    let config = &shared.members.config;
    let queue = keys::queue(config.format, config.key_prefix(), &request.name);
    let options = holder_of(config.format).with_keys_only();
    let first = shared.members.request(|client| {
        let (queue, options) = (queue.clone(), options.clone());
        async move { client.kv_client().get(queue, Some(options)).await }
    });
    Ok(!first.await?.kvs().is_empty())
}
