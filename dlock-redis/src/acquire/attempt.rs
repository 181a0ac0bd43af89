//! One try of an attempt: a request, and its answer.

use std::sync::Arc;

use dlock_core::{
    Effect, Holder, Result,
    backend::{AcquireRequest, Lease},
};

use crate::{
    acquire::{batch::CommandBatcher, undo::undo},
    keys::Keys,
    scripts::{AcquireItem, Contended, Outcome, Waits, Written, millis},
};

/// The result of a try: the lease, or why there is none.
pub(super) type Tried = Result<Result<Lease, Contended>>;

/// The bound on tries whose reply was lost (K9). On the next connection the server either knows the attempt, or
/// grants it then.
const TRIES_MAX: usize = 3;

/// Sends one request. A grant counts from before it was sent (K2), also for an attempt that was granted
/// before: the request renews it.
pub(super) async fn try_once(
    batcher: &CommandBatcher,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
    waits: Waits,
) -> Tried {
    let item = AcquireItem {
        keys: keys.clone(),
        ttl: millis(request.ttl),
        holder: Holder::encode(request, None),
        waits,
    };
    match batcher.acquire(item).await? {
        (sent, Outcome::Granted(token, value)) => {
            let handle = Arc::new(Written::new(keys.clone(), value));
            Ok(Ok(request.granted(sent, request.ttl, token, handle)))
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
    let mut error = match try_once(batcher, request, keys, Waits::Never).await {
        Err(error) if error.effect() == Effect::Unknown => error,
        answer => return answer,
    };
    let mut tries = 1;
    while tries < TRIES_MAX && error.effect() == Effect::Unknown && !request.attempt.is_cancelled()
    {
        tries += 1;
        error = match try_once(batcher, request, keys, Waits::Never).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
    }
    // Also if the last request was never sent: the first one was.
    undo(batcher, request, keys).await;
    Err(error.with_effect(Effect::Unknown))
}
