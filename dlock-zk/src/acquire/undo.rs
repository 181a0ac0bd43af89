//! The undo of a failed attempt.

use super::acquisition::{Acquisition, QueueNode};
use crate::nodes::delete_until_confirmed;

/// Deletes the node of an attempt that has failed. Ends when a server has confirmed the deletion, or with the session:
/// the servers then delete the node.
pub(super) async fn undo(acquisition: &Acquisition<'_>, node: &QueueNode) {
    let Acquisition { session, path, .. } = acquisition;
    delete_until_confirmed(session, &path.child(&node.name)).await;
}
