//! One try to take a lock, and its undoing.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    AttemptId, Effect, Holder, Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{
    acquire::batch::{Found, Release, Take, Trips},
    conn::node::LATE_MAX,
    keys::Keys,
    scripts,
};

/// The lock is held by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// For how long, if it is not renewed; `None` for a key without an end.
    pub(crate) left: Option<Duration>,
    /// By a client of dlock, which will publish its release.
    pub(crate) ours: bool,
}

impl Taken {
    /// From the remaining milliseconds, negative if the key has no end, and 1 if it is ours.
    pub(crate) fn new(left: i64, ours: i64) -> Self {
        Self {
            left: u64::try_from(left).ok().map(Duration::from_millis),
            ours: ours == 1,
        }
    }
}

/// How often a request is sent whose answer was lost (K9): on the next connection the server either
/// knows the attempt, or takes the lock for it then.
const TRIES_MAX: usize = 3;

/// An attempt that has failed is undone in this time, or in the background.
const UNDO_MAX: Duration = Duration::from_secs(5);

/// Asks once. A granted answer proves the lock from before it was asked (K2), also for an attempt
/// that was granted before: its end is moved then.
pub(crate) async fn once(
    trips: &Trips,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) -> Result<Result<Lease, Taken>> {
    let take = Take {
        keys: keys.clone(),
        id: request.attempt.id(),
        ttl: scripts::millis(request.ttl),
        holder: Holder::encode_tail(request),
        waits: request.wait != Wait::Never,
    };
    match trips.take(take).await? {
        (sent, Found::Granted(token)) => {
            Ok(Ok(request.granted(sent, request.ttl, token, keys.clone())))
        }
        (_, Found::Taken(taken)) => Ok(Err(taken)),
    }
}

/// Asks until there is an answer, for one who does not wait.
pub(crate) async fn surely(
    trips: &Arc<Trips>,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) -> Result<Result<Lease, Taken>> {
    let mut error = match once(trips, request, keys).await {
        Err(error) if error.effect() == Effect::Unknown => error,
        answer => return answer,
    };
    let mut tries = 1;
    while tries < TRIES_MAX && error.effect() == Effect::Unknown && !request.attempt.is_cancelled()
    {
        tries += 1;
        error = match once(trips, request, keys).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
    }
    // Also if the last one was never sent: the first was.
    undo(trips, request, keys).await;
    Err(error.with_effect(Effect::Unknown))
}

/// Undoes an attempt of which nobody knows whether it was granted. What takes longer than [`UNDO_MAX`]
/// goes on in the background, also while the server is silent: a request that it has not done yet is done
/// when it comes back, and nobody would hold the lock (K7, K9). It ends when the server has confirmed it,
/// when nothing can be left of the last request, or with the locker.
pub(crate) async fn undo(trips: &Arc<Trips>, request: &AcquireRequest, keys: &Arc<Keys>) {
    let over = request.clock().now().after(LATE_MAX).after(request.ttl);
    let (trips, keys, id) = (trips.clone(), keys.clone(), request.attempt.id());
    let clear = move || {
        let (trips, keys) = (trips.clone(), keys.clone());
        async move { release(&trips, &keys, id).await }
    };
    let _ = tokio::time::timeout(UNDO_MAX, request.undo(over, clear)).await;
}

/// Frees the attempt's own lock; success also if it is gone.
pub(crate) async fn release(trips: &Trips, keys: &Arc<Keys>, id: AttemptId) -> Result<()> {
    let keys = keys.clone();
    trips.release(Release { keys, id }).await
}
