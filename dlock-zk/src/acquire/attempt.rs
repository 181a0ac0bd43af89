//! One try of an attempt: the decision whether its node is the first of its queue.

use dlock_core::Error;
use zookeeper_client::Error as ZkError;

use super::acquisition::{Acquisition, QueueNode, QueueView};
use crate::{
    errors::Failure,
    queue::order::{self, Position},
};

/// The position of the node in its queue, unless the attempt is cancelled. A grant is decided here alone: a node that
/// is the first once stays the first until it is deleted.
pub(super) async fn try_once(
    acquisition: &Acquisition<'_>,
    node: &mut QueueNode,
) -> Result<Position, Failure> {
    let Acquisition {
        session,
        config,
        request,
        path,
    } = acquisition;
    if request.attempt.is_cancelled() {
        return Err(Failure::Final(Error::cancelled()));
    }
    let children = match node.view.take() {
        Some(QueueView::Number(number)) if session.sequences.is_next(&path.directory, number) => {
            return Ok(Position::First);
        }
        Some(QueueView::Children(children)) => children,
        // Boxed: the futures of acquires stay small.
        Some(QueueView::Number(_)) | None => Box::pin(list(acquisition)).await?,
    };
    Ok(order::position(config.format, &children, &node.name)?)
}

/// The nodes of the queue. No server answers with a state older than the creation of the node, which it has
/// confirmed. A node that is not before it then never will be.
async fn list(acquisition: &Acquisition<'_>) -> Result<Vec<String>, ZkError> {
    let Acquisition { session, path, .. } = acquisition;
    let client = session.client()?;
    let listed = session.request(|| client.list_children(&path.directory));
    match listed.await {
        // Another client has removed the whole directory.
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => children,
    }
}
