//! Taking a lock without waiting, and undoing what came of it.

use std::{sync::Arc, time::Duration};

use dlock_core::{Effect, Error, Result, backend::AcquireRequest};
use tokio::time::timeout;

use crate::{
    EtcdLock, errors, keys as layout,
    lease::poll_watchdog::Pulse,
    queue::key::{Entry, Stand},
    ranges::first_of_queue,
};

/// An attempt that has failed is undone in this time, or in the background.
const UNDO_MAX: Duration = Duration::from_secs(2);

/// A carrier that is there may have ended; a second one has not.
const CARRIERS_MAX: u32 = 2;

/// Takes the lock if it is free, and writes nothing if it is not. The revision of the grant, with the
/// place that was granted.
pub(crate) async fn now(
    lock: &EtcdLock,
    request: &AcquireRequest,
    pulse: &Arc<Pulse>,
) -> Result<(Arc<Entry>, i64)> {
    let mut seat = lock.carriers.present(request.ttl, request.renewal);
    if seat.is_none() && is_taken(lock, request).await? {
        // A lease would be a write.
        return Err(Error::contended());
    }
    for _ in 0..CARRIERS_MAX {
        let seat = match seat.take() {
            Some(present) => present,
            None => lock.carriers.seat_for(request).await?,
        };
        let entry = Entry::new(lock, seat, request, pulse);
        match entry.try_first().await {
            Ok(Stand::First(revision)) => return Ok((entry, revision)),
            // It had ended before we knew, and nothing was done.
            Ok(Stand::NoCarrier) if entry.settle() => entry.end(),
            Ok(Stand::NoCarrier) => return Err(errors::unpolled()),
            Ok(Stand::Behind { .. } | Stand::Nowhere) => {
                // A try whose answer is lost may yet find the lock free (K9).
                let is_there = entry.is_doubtful();
                return Err(undo(entry, request, is_there, Error::contended()).await);
            }
            Err(error) => {
                let is_unknown = error.effect() == Effect::Unknown;
                return Err(undo(entry, request, is_unknown, error).await);
            }
        }
    }
    Err(errors::lease_ended())
}

async fn is_taken(lock: &EtcdLock, request: &AcquireRequest) -> Result<bool> {
    let queue = layout::queue(&lock.session.config.prefix, &request.name);
    let options = first_of_queue().with_keys_only();
    let first = lock.session.ask(|client| {
        let (queue, options) = (queue.clone(), options.clone());
        async move { client.kv_client().get(queue, Some(options)).await }
    });
    Ok(!first.await?.kvs().is_empty())
}

/// Gives up the place of an attempt that has failed with `error`; which has an unknown effect if that
/// is not confirmed in [`UNDO_MAX`], after which it goes on in the background until the lease ends.
///
/// `is_there` says that the store may have made the place.
pub(crate) async fn undo(
    entry: Arc<Entry>,
    request: &AcquireRequest,
    is_there: bool,
    error: Error,
) -> Error {
    if !entry.settle() {
        // Nobody polled it, and it is undone in the background already.
        return error.with_effect(Effect::Unknown);
    }
    let is_own = request.renewal == dlock_core::backend::Renewal::None;
    if !is_there && !is_own {
        entry.end();
        entry.standing.leave();
        return error;
    }
    let done = entry.clone();
    let mut undoing = Box::pin(async move { done.clear().await });
    match timeout(UNDO_MAX, &mut undoing).await {
        Ok(()) => error.with_effect(Effect::None),
        Err(_) => {
            entry.part();
            tokio::spawn(undoing);
            error.with_effect(Effect::Unknown)
        }
    }
}
