//! A lock that is taken: the wait for the node before that of the attempt.

use std::time::Duration;

use dlock_core::{Error, Result};
use zookeeper_client::Error as ZkError;

use super::{
    acquisition::{Acquisition, QueueNode, RETRY_AFTER, Turn},
    attempt::position,
};
use crate::{
    errors::{self, Failure},
    queue::order::Position,
    session::Session,
    watch::Purpose,
};

/// The interval of lists where the budget has no bytes for another watch.
const LIST_EVERY: Duration = Duration::from_secs(1);

/// Waits until the node is the first of its queue.
pub(super) async fn until_first(
    acquisition: &Acquisition<'_>,
    node: &mut QueueNode,
) -> Result<Turn> {
    let Acquisition {
        session,
        request,
        path,
        ..
    } = acquisition;
    let attempt = &request.attempt;
    loop {
        if attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        let position = position(acquisition, node).await;
        let generation = session.connection.generation();
        let changed = match position {
            Ok(Position::First) => return Ok(Turn::First),
            Ok(Position::Gone) => return Ok(Turn::NodeGone),
            Ok(Position::After(before)) => {
                attempt.report_contended();
                until_changed(acquisition, &path.child(&before), generation).await
            }
            Err(Failure::Request(error)) => Err(error),
            Err(Failure::Final(error)) => return Err(error),
        };
        match changed {
            Ok(()) => {}
            Err(_) if session.has_ended() => return Err(errors::session_ended()),
            Err(error) if errors::is_retryable(&error) => {
                tracing::debug!(%error, "waiting continues");
                attempt.report_unavailable(&errors::of_request(error));
                tokio::select! {
                    () = reconnected(session) => {}
                    () = attempt.cancelled() => {}
                }
            }
            Err(error) => return Err(errors::of_request(error)),
        }
    }
}

/// Waits until the node `before` is deleted or written to. Each node has one watcher, so a release wakes one waiter
/// (T47).
async fn until_changed(
    acquisition: &Acquisition<'_>,
    before: &str,
    generation: u64,
) -> Result<(), ZkError> {
    let Acquisition {
        session, request, ..
    } = acquisition;
    let client = session.client()?;
    let Some(permit) = session.watches.permit(&client, before, Purpose::Wait) else {
        tokio::select! {
            () = tokio::time::sleep(LIST_EVERY) => {}
            () = request.attempt.cancelled() => {}
        }
        return Ok(());
    };
    let watched = session.request(|| client.get_and_watch_data(before));
    let watcher = match watched.await {
        Err(ZkError::NoNode) => return Ok(()),
        watched => watched?.2,
    };
    tokio::select! {
        _ = permit.watch(watcher).event() => Ok(()),
        () = request.attempt.cancelled() => Ok(()),
        // The driver moves the watch to the next connection, but does not report the end of this one.
        () = session.connection.lost(generation) => Err(ZkError::ConnectionLoss),
    }
}

async fn reconnected(session: &Session) {
    tokio::time::sleep(RETRY_AFTER).await;
    session.connection.connected().await;
}
