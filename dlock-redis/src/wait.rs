//! Waiting for a lock that is taken.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Effect, Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease},
    toolkit::{Backoff, pause, pause_after},
};

use crate::{
    RedisLock,
    layout::Keys,
    take::{self, Taken},
    wake::Listener,
};

/// Who may not hear of the release looks this often: the holder is no client of dlock and publishes nothing,
/// or the connection for wake-ups is late with its pulse, or takes long to make.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The server's clock has milliseconds: a key ends at the end of its last one.
const EXPIRY_SLACK: Duration = Duration::from_millis(1);

/// What one try brought.
type Answer = Result<Result<Lease, Taken>>;

/// Waits until the lock is granted or the attempt is cancelled; then [undone](take::undo).
pub(crate) async fn wait(
    lock: &RedisLock,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
) -> Result<Lease> {
    let first = match take::once(&lock.trips, request, keys).await {
        // Who need not wait need not listen.
        Ok(Ok(lease)) => return Ok(lease),
        first => first,
    };
    let mut listener = lock.listeners.listener(&keys.channel());
    let mut unknown = false;
    let result = until_granted(lock, request, keys, first, &mut listener, &mut unknown).await;
    listener.leave();
    if result.is_err() && unknown {
        take::undo(&lock.trips, request, keys).await;
        return result.map_err(|error| error.with_effect(Effect::Unknown));
    }
    result
}

/// `unknown` says whether the last try may have been granted though nobody heard so.
async fn until_granted(
    lock: &RedisLock,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
    first: Answer,
    listener: &mut Listener,
    unknown: &mut bool,
) -> Result<Lease> {
    let mut answer = first;
    let mut backoff = Backoff::new();
    loop {
        let failed = match answer {
            Ok(Ok(lease)) => return Ok(lease),
            Ok(Err(taken)) => {
                *unknown = false;
                lock.longest.tell(request, taken);
                let subscribed = subscribed(lock, request, keys, listener, &mut backoff);
                let subscribed = tokio::time::timeout(LOOK_EVERY, subscribed).await;
                match subscribed.unwrap_or(Ok(Heard::FromNow)) {
                    Ok(Heard::Already) => {
                        let after = look_after(taken, listener.may_be_deaf());
                        sleep(request, listener, after).await;
                        if listener.hears() {
                            backoff.reset();
                        }
                        None
                    }
                    // What was released before was published to nobody: try again. Nobody may know
                    // for how long one that is not there yet will take.
                    Ok(Heard::FromNow) => None,
                    Err(error) => Some(error),
                }
            }
            Err(error) => {
                *unknown |= error.effect() == Effect::Unknown;
                Some(error)
            }
        };
        if let Some(error) = failed {
            if error.kind() != ErrorKind::Unavailable || lock.trips.servers.is_closed() {
                return Err(error);
            }
            pause_after(&request.attempt, &error, &mut backoff).await?;
        }
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        answer = take::once(&lock.trips, request, keys).await;
    }
}

/// Since when releases are heard of.
enum Heard {
    /// Before the last try.
    Already,
    FromNow,
}

async fn subscribed(
    lock: &RedisLock,
    request: &AcquireRequest,
    keys: &Arc<Keys>,
    listener: &mut Listener,
    backoff: &mut Backoff,
) -> Result<Heard> {
    let owner = lock.trips.servers.owner(&keys.lock).await?;
    if listener.is_subscribed(&owner) {
        return Ok(Heard::Already);
    }
    if listener.forget() {
        // Its connection has ended, perhaps as soon as it was made, and the next one may as well. Not woken
        // by a connection that ends: it would be made again without a pause.
        pause(&request.attempt, backoff).await?;
    }
    if request.attempt.is_cancelled() {
        return Err(Error::cancelled());
    }
    listener.subscribe(&owner).await?;
    Ok(Heard::FromNow)
}

/// When to look again though nobody calls.
fn look_after(taken: Taken, deaf: bool) -> Duration {
    match taken.left.map(|left| left + EXPIRY_SLACK) {
        Some(end) if taken.ours && !deaf => end,
        Some(end) => end.min(LOOK_EVERY),
        // No end: somebody has changed the key.
        None => LOOK_EVERY,
    }
}

async fn sleep(request: &AcquireRequest, listener: &Listener, after: Duration) {
    tokio::select! {
        () = listener.woken() => {}
        () = tokio::time::sleep(after) => {}
        () = request.attempt.cancelled() => {}
    }
}
