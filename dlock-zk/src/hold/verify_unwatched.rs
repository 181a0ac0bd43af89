//! Verification of held locks whose nodes or queues are not watched: periodically, many in a request.
//!
//! A session cannot have watches for many thousands of locks (`watch.rs`). So the removal of such a lock's node by
//! another client is noticed once in a time-out of the session, and so is a node of another recipe in its queue.

use std::sync::Arc;

use dlock_core::LostCause;
use zookeeper_client::{Error as ZkError, MultiReadResult};

use super::foreign::has_foreign;
use crate::{
    queue::list_batch::children_of,
    session::{Session, holds::HeldNode},
};

/// The most nodes in a request.
const SIZE_MAX: usize = 500;

/// Runs until the session has ended.
pub(crate) async fn run(session: Arc<Session>) {
    loop {
        let next = session.clock.now().after(session.liveness.times.timeout);
        tokio::select! {
            () = session.clock.sleep_until(next) => {}
            () = session.connection.ended() => return,
        }
        for nodes in session.holds.unwatched().chunks(SIZE_MAX) {
            if let Err(error) = verify(&session, nodes).await {
                tracing::debug!(%error, "held locks are verified in the next period");
                break;
            }
        }
    }
}

/// A part of a lock that is read.
enum Read<'a> {
    Node(&'a HeldNode),
    Queue(&'a HeldNode),
}

async fn verify(session: &Session, nodes: &[Arc<HeldNode>]) -> Result<(), ZkError> {
    let client = session.client()?;
    let (mut reader, mut reads) = (client.new_multi_reader(), Vec::new());
    for node in nodes {
        if !node.is_watched() {
            reader.add_get_data(&node.path)?;
            reads.push(Read::Node(node));
        }
        if !node.is_queue_watched() {
            reader.add_get_children(&node.directory)?;
            reads.push(Read::Queue(node));
        }
    }
    let answers = session.request(|| reader.commit()).await?;
    for (read, answer) in reads.into_iter().zip(answers) {
        // After a release a report has no effect.
        match read {
            Read::Node(node) if is_gone(node, &answer) => {
                node.attempt.report_lost(LostCause::Removed);
            }
            Read::Queue(node) => {
                let children = children_of(answer).unwrap_or_default();
                if has_foreign(session, node, &children) {
                    node.attempt.report_lost(LostCause::Taken);
                }
            }
            Read::Node(_) => {}
        }
    }
    Ok(())
}

fn is_gone(node: &HeldNode, answer: &MultiReadResult) -> bool {
    match answer {
        MultiReadResult::Data { stat, .. } => stat.czxid != node.czxid,
        MultiReadResult::Error { err } => *err == ZkError::NoNode,
        _ => false,
    }
}
