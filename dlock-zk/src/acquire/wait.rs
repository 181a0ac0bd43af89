//! A lock that is taken: the wait for the node before that of the attempt.

use std::time::Duration;

use zookeeper_client::Error as ZkError;

use super::{
    acquisition::{Acquisition, QueueNode, RETRY_AFTER},
    attempt::try_once,
};
use crate::{
    errors::{self, Failure},
    queue::order::Position,
    session::Session,
    watch::Purpose,
};

/// The interval of lists where the budget has no bytes for another watch.
const LIST_EVERY: Duration = Duration::from_secs(1);

/// Waits until the node is the first of its queue or deleted. `tried` is the result of the first try.
pub(super) async fn until_first(
    acquisition: &Acquisition<'_>,
    node: &mut QueueNode,
    mut tried: Result<Position, Failure>,
) -> Result<Position, Failure> {
    let Acquisition {
        session,
        request,
        path,
        ..
    } = acquisition;
    let attempt = &request.attempt;
    loop {
        let generation = session.connection.generation();
        let changed = match tried {
            Ok(Position::After(before)) => {
                attempt.report_contended();
                until_changed(acquisition, &path.child(&before), generation).await
            }
            Err(Failure::Request(error)) => Err(error),
            decided => return decided,
        };
        match changed {
            Err(error) if errors::is_retryable(&error) && !session.has_ended() => {
                tracing::debug!(%error, "waiting continues");
                attempt.report_unavailable(&errors::of_request(error));
                tokio::select! {
                    () = reconnected(session) => {}
                    () = attempt.cancelled() => {}
                }
            }
            changed => changed?,
        }
        tried = try_once(acquisition, node).await;
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
