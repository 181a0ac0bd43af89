//! A lock that is taken: the wait of a key in the queue, and of another one when it is lost.

use std::sync::Arc;

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Lease},
    toolkit::{Backoff, pause_after},
};

use crate::{
    acquire::{
        attempt::{NotGranted, Tried, enqueue, until_lease_ends},
        grant::grant,
        turn::{EndOfTurn, Turn},
        undo::undo,
    },
    errors,
    lease::poll_watchdog::PollWatchdog,
    queue::{key::QueueKey, position::Position},
    shared::Shared,
};

/// Waits until the lock is granted or the attempt is cancelled. Then its key is removed within 2 s, or in
/// the background until its lease ends. `tried` is the result of the first try.
pub(super) async fn until_granted(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
    mut tried: Tried,
) -> Result<Lease> {
    let mut backoff = Backoff::new();
    loop {
        match tried {
            Ok(lease) => return Ok(lease),
            Err(NotGranted::NoKey(error)) => {
                after_failure(shared, request, &mut backoff, error).await?;
            }
            Err(NotGranted::Queued(key, position)) => {
                let first = until_first(shared, request, key, position, &mut backoff).await?;
                if let Some((key, created)) = first {
                    let granted = grant(shared, request, key, created).await;
                    tried = granted.map_err(NotGranted::Undone);
                    continue;
                }
            }
            // The lease of the key had ended: the attempt enqueues again, after a pause (K6). A store may accept keys
            // and fail to prove their lease, over and over.
            Err(NotGranted::Undone(error)) => {
                after_failure(shared, request, &mut backoff, error).await?;
            }
        }
        tried = enqueue(shared, request, watchdog).await;
    }
}

/// Waits until the key comes first, and returns it with its create revision; `None` if the attempt needs another key.
async fn until_first(
    shared: &Shared,
    request: &AcquireRequest,
    key: Arc<QueueKey>,
    position: Result<Position>,
    backoff: &mut Backoff,
) -> Result<Option<(Arc<QueueKey>, i64)>> {
    let mut turn = Turn::new(shared, request, &key);
    let end = tokio::select! {
        biased;
        end = turn.run(position) => end,
        () = until_lease_ends(request, &key) => EndOfTurn::KeyLost,
    };
    drop(turn);
    match end {
        EndOfTurn::First(created) => return Ok(Some((key, created))),
        EndOfTurn::Cancelled => return Err(undo(key, request, true, Error::cancelled()).await),
        EndOfTurn::Refused(error) => return Err(undo(key, request, true, error).await),
        EndOfTurn::Unpolled => {
            tracing::debug!(name = %request.name, "polled again: enqueues with a new key");
        }
        EndOfTurn::KeyLost => {
            tracing::debug!(name = %request.name, "the queue key is lost: enqueues with a new one");
            // A request for the old key may be under way.
            undo(key, request, true, errors::lease_ended()).await;
            after_failure(shared, request, backoff, errors::lease_ended()).await?;
        }
    }
    Ok(None)
}

/// Pauses before the next try; fails if there shall be none.
async fn after_failure(
    shared: &Shared,
    request: &AcquireRequest,
    backoff: &mut Backoff,
    error: Error,
) -> Result<()> {
    if !error.is_retryable() || shared.members.is_closed() {
        return Err(error);
    }
    pause_after(&request.attempt, &error, backoff).await
}
