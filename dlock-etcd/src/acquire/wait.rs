//! An acquire that waits: a key in the queue, and another one when it is lost, until the lock is granted.

use std::sync::Arc;

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Lease, Renewal},
    toolkit::{Backoff, pause_after},
};

use crate::{
    acquire::{
        grant::grant,
        turn::{EndOfTurn, Turn},
        undo::undo,
    },
    errors,
    lease::poll_watchdog::PollWatchdog,
    queue::key::QueueKey,
    shared::Shared,
};

/// Waits until the lock is granted or the attempt is cancelled. Then its key is removed within 2 s, or in
/// the background until its lease ends.
pub(super) async fn acquire(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Result<Lease> {
    loop {
        let (key, created) = until_first(shared, request, watchdog).await?;
        match grant(shared, request, key, created).await {
            // The key came first, and its lease had ended: the attempt enqueues again (K6).
            Err(error) if error.is_retryable() && !shared.members.is_closed() => {
                request.attempt.report_unavailable(&error);
            }
            granted => return granted,
        }
    }
}

/// Enqueues a key until one comes first, and returns it with its create revision.
async fn until_first(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Result<(Arc<QueueKey>, i64)> {
    let mut backoff = Backoff::new();
    loop {
        let lease = match shared.leases.get_for(request).await {
            Ok(lease) => lease,
            Err(error) => {
                after_failure(shared, request, &mut backoff, error).await?;
                continue;
            }
        };
        let key = QueueKey::new(&shared.queue, lease, request, watchdog);
        let mut turn = Turn::new(shared, request, &key);
        let end = tokio::select! {
            biased;
            end = turn.run() => end,
            () = until_lease_ends(request, &key) => EndOfTurn::KeyLost,
        };
        let may_exist = turn.may_exist;
        drop(turn);
        match end {
            EndOfTurn::First(created) => return Ok((key, created)),
            EndOfTurn::Cancelled => {
                return Err(undo(key, request, may_exist, Error::cancelled()).await);
            }
            EndOfTurn::Refused(error) => {
                return Err(undo(key, request, may_exist, error).await);
            }
            EndOfTurn::Unpolled => {
                tracing::debug!(name = %request.name, "polled again: enqueues with a new key");
            }
            EndOfTurn::KeyLost => {
                tracing::debug!(name = %request.name, "the queue key is lost: enqueues with a new one");
                // A request for the old key may be under way.
                undo(key, request, may_exist, errors::lease_ended()).await;
                after_failure(shared, request, &mut backoff, errors::lease_ended()).await?;
            }
        }
    }
}

/// Completes when the lease of the key ends; keeps a lease of its own alive until then.
async fn until_lease_ends(request: &AcquireRequest, key: &QueueKey) {
    match request.renewal {
        Renewal::Auto => key.lease.ending().await,
        Renewal::None => drop(key.lease.keep_alive(|| true).await),
    }
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
