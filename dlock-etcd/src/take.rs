//! Taking a lock without waiting, and undoing what came of it.

use std::{sync::Arc, time::Duration};

use dlock_core::{AcquireRequest, Effect, Error, Result};
use tokio::time::timeout;

use crate::{
    EtcdLock,
    carrier::until_done,
    entry::{Entry, Stand, first_of_queue},
    errors, layout,
};

/// An attempt that has failed is undone in this time, or in the background.
const UNDO_MAX: Duration = Duration::from_secs(2);

/// A carrier that is there may have ended; a second one has not.
const CARRIERS_MAX: u32 = 2;

/// Takes the lock if it is free, and writes nothing if it is not. The revision of the grant, with the
/// place that was granted.
pub(crate) async fn now(lock: &EtcdLock, request: &AcquireRequest) -> Result<(Arc<Entry>, i64)> {
    let mut carrier = lock.carriers.present(request);
    if carrier.is_none() && is_taken(lock, request).await? {
        // A lease would be a write.
        return Err(Error::contended());
    }
    for _ in 0..CARRIERS_MAX {
        let carrier = match carrier.take() {
            Some(present) => present,
            None => lock.carriers.carrier_for(request).await?,
        };
        let entry = Arc::new(Entry::new(lock, carrier, request));
        match entry.try_first().await {
            Ok(Stand::First(revision)) => return Ok((entry, revision)),
            // It had ended before we knew, and nothing was done.
            Ok(Stand::NoCarrier) => entry.end(),
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
    let is_own = request.renewal == dlock_core::Renewal::None;
    if !is_there && !is_own {
        entry.end();
        entry.carrier.leave(request.attempt.id());
        return error;
    }
    let (done, id) = (entry.clone(), request.attempt.id());
    let undoing = async move {
        until_done(&done.carrier, || done.remove()).await;
        done.end();
        done.carrier.leave(id);
    };
    let mut undoing = Box::pin(undoing);
    match timeout(UNDO_MAX, &mut undoing).await {
        Ok(()) => error.with_effect(Effect::None),
        Err(_) => {
            entry.part();
            tokio::spawn(undoing);
            error.with_effect(Effect::Unknown)
        }
    }
}
