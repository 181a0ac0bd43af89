//! One attempt to take a lock: try or wait, over as many sessions as it needs.

mod acquisition;
mod attempt;
mod enqueue;
mod grant;
mod undo;
mod wait;

use std::sync::Arc;

use dlock_core::{
    Effect, Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease, Wait},
};

use self::acquisition::{Acquisition, RETRY_AFTER};
use crate::{
    conn::reconnect::Reconnect,
    errors::{self, Failure},
    queue::order::Position,
    session::holds::HeldNode,
};

/// How many sessions a try without waiting uses when they end.
const SESSIONS_MAX: u32 = 3;

/// Takes the lock, or waits for it. After a cancellation the node is deleted within the session's time-out, which
/// deletes it otherwise.
pub(crate) async fn acquire(reconnect: &Arc<Reconnect>, request: &AcquireRequest) -> Result<Lease> {
    let waits = request.wait == Wait::UntilCancelled;
    let mut sessions = 0;
    loop {
        sessions += 1;
        // The URL has led to the servers before, when the locker connected.
        let session = reconnect.session().await;
        let error = match session.map_err(Error::without_url_hint) {
            Ok(session) => {
                let acquisition = Acquisition::new(&session, &reconnect.config, request);
                match acquire_in(&acquisition).await {
                    Err(error) if session.has_ended() && (waits || sessions < SESSIONS_MAX) => {
                        error
                    }
                    answer => return answer.map_err(|error| with_effect(&acquisition, error)),
                }
            }
            Err(error) if waits && error.kind() == ErrorKind::Unavailable => error,
            Err(error) => return Err(error),
        };
        if request.attempt.is_cancelled() || reconnect.is_closed() {
            return Err(error);
        }
        tracing::debug!(%error, "the attempt starts again in another session");
        request.attempt.report_unavailable(&error);
        if waits {
            tokio::select! {
                () = tokio::time::sleep(RETRY_AFTER) => {}
                () = request.attempt.cancelled() => {}
            }
        }
    }
}

/// After a creation that was not answered a node may still come (K9, `zk.late`). A name that is taken is no error.
fn with_effect(acquisition: &Acquisition<'_>, error: Error) -> Error {
    let id = acquisition.request.attempt.id();
    if error.kind() != ErrorKind::Contended && acquisition.session.unanswered.contains(id) {
        return error.with_effect(Effect::Unknown);
    }
    error
}

/// The attempt in one session; its node is deleted when it fails.
async fn acquire_in(acquisition: &Acquisition<'_>) -> Result<Lease> {
    let Acquisition {
        session,
        request,
        path,
        ..
    } = acquisition;
    let _active = session.keep_active();
    if let Some(node) = session.holds.find(request.attempt.id()) {
        return grant::grant(session, request, node).await;
    }
    loop {
        let mut node = enqueue::enqueue(acquisition).await?;
        let tried = attempt::try_once(acquisition, &mut node).await;
        let is_decided = matches!(tried, Ok(Position::First | Position::Gone));
        let position = match request.wait {
            Wait::UntilCancelled if !is_decided => {
                // Boxed here and below, as most locks are free: the futures of acquires stay small.
                Box::pin(wait::until_first(acquisition, &mut node, tried)).await
            }
            _ => tried,
        };
        let granted = match position {
            Ok(Position::First) => {
                let attempt = request.attempt.clone();
                let (path, directory) = (path.child(&node.name), path.directory.clone());
                let held = HeldNode::new(attempt, path, directory, node.czxid, session.clock.now());
                grant::grant(session, request, Arc::new(held)).await
            }
            // Another client has deleted the node: the attempt goes to the end of the queue.
            Ok(Position::Gone) => continue,
            Ok(Position::After(_)) => Err(Error::contended()),
            Err(Failure::Request(_)) if session.has_ended() => Err(errors::session_ended()),
            Err(failure) => Err(failure.into_error()),
        };
        if granted.is_err() {
            Box::pin(undo::undo(acquisition, &node)).await;
        }
        return granted;
    }
}
