//! The undo of a failed attempt.

use std::{sync::Arc, time::Duration};

use dlock_core::backend::AcquireRequest;

use crate::{acquire::batch::CommandBatcher, conn::DELAY_MAX, keys::Keys, scripts::ReleaseItem};

/// An attempt that failed is undone within this time, or in the background.
const UNDO_WAIT_MAX: Duration = Duration::from_secs(5);

/// Undoes an attempt whose effect is unknown (K7, K9).
///
/// After [`UNDO_WAIT_MAX`] it goes on in the background. A silent server may execute the request when it comes
/// back, and would leave a lock without a holder. The undo ends when the server has confirmed it, when the last
/// request can have no effect any more, or with the locker.
pub(super) async fn undo(
    batcher: &Arc<CommandBatcher>,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) {
    let until = request.clock().now().after(DELAY_MAX).after(request.ttl);
    let (batcher, keys, id) = (batcher.clone(), keys.clone(), request.attempt.id());
    let release = move || {
        let (batcher, keys) = (batcher.clone(), keys.clone());
        async move {
            batcher
                .release(ReleaseItem::Attempt(keys, id))
                .await
                .map(drop)
        }
    };
    let _ = tokio::time::timeout(UNDO_WAIT_MAX, request.undo(until, release)).await;
}
