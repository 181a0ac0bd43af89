//! The undo of a failed attempt.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Effect, Error,
    backend::{AcquireRequest, Renewal},
};
use tokio::time::timeout;

use crate::queue::key::QueueKey;

/// A failed attempt waits this long for its undo, which then goes on in the background.
const UNDO_MAX: Duration = Duration::from_secs(2);

/// Removes the key of an attempt that has failed with `error`. The returned error has an unknown effect if the
/// removal is not confirmed in [`UNDO_MAX`]. Then it goes on in the background until the lease ends.
///
/// `may_exist` says whether the store may have created the key.
pub(super) async fn undo(
    key: Arc<QueueKey>,
    request: &AcquireRequest,
    may_exist: bool,
    error: Error,
) -> Error {
    if !key.claim() {
        // The acquire was not polled, and its key is being removed in the background already.
        return error.with_effect(Effect::Unknown);
    }
    let owns_lease = request.renewal == Renewal::None;
    if !may_exist && !owns_lease {
        key.retire_key();
        key.leases.release();
        return error;
    }
    let removed = key.clone();
    let mut removal = Box::pin(async move { removed.remove_and_unref().await });
    match timeout(UNDO_MAX, &mut removal).await {
        Ok(()) => error.with_effect(Effect::None),
        Err(_) => {
            key.detach_key();
            tokio::spawn(removal);
            error.with_effect(Effect::Unknown)
        }
    }
}
