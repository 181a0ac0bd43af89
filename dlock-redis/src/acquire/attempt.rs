//! One try to acquire a lock, and its undo.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Effect, Holder, Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{
    acquire::batch::CommandBatcher,
    conn::DELAY_MAX,
    keys::Keys,
    scripts::{AcquireItem, Contended, Outcome, millis},
};

/// The result of a try: the lease, or why there is none.
pub(super) type Tried = Result<Result<Lease, Contended>>;

/// The bound on tries whose reply was lost (K9). On the next connection the server either knows the attempt, or
/// grants it then.
const TRIES_MAX: usize = 3;

/// An attempt that failed is undone within this time, or in the background.
const UNDO_WAIT_MAX: Duration = Duration::from_secs(5);

/// Sends one request. A grant counts from before it was sent (K2), also for an attempt that was granted
/// before: the request renews it.
pub(super) async fn try_once(
    batcher: &CommandBatcher,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) -> Tried {
    let item = AcquireItem {
        keys: keys.clone(),
        id: request.attempt.id(),
        ttl: millis(request.ttl),
        holder: Holder::encode_tail(request),
        waits: request.wait != Wait::Never,
    };
    match batcher.acquire(item).await? {
        (sent, Outcome::Granted(token)) => {
            Ok(Ok(request.granted(sent, request.ttl, token, keys.clone())))
        }
        (_, Outcome::Contended(contended)) => Ok(Err(contended)),
    }
}

/// Sends requests until one is answered, for an acquire that does not wait.
pub(super) async fn try_until_answered(
    batcher: &Arc<CommandBatcher>,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) -> Tried {
    let mut error = match try_once(batcher, request, keys).await {
        Err(error) if error.effect() == Effect::Unknown => error,
        answer => return answer,
    };
    let mut tries = 1;
    while tries < TRIES_MAX && error.effect() == Effect::Unknown && !request.attempt.is_cancelled()
    {
        tries += 1;
        error = match try_once(batcher, request, keys).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
    }
    // Also if the last request was never sent: the first one was.
    undo(batcher, request, keys).await;
    Err(error.with_effect(Effect::Unknown))
}

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
        async move { batcher.release(&keys, id).await }
    };
    let _ = tokio::time::timeout(UNDO_WAIT_MAX, request.undo(until, release)).await;
}
