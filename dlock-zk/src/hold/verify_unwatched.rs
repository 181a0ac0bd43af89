//! Verification of held locks whose nodes are not watched: periodically, many in a request.
//!
//! A session cannot have watches for many thousands of locks (`watch.rs`). So the removal of such a lock's node by
//! another client is noticed once in a time-out of the session.

use std::sync::Arc;

use dlock_core::LostCause;
use zookeeper_client::{Error as ZkError, MultiReadResult};

use crate::session::{Session, holds::HeldNode};

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

async fn verify(session: &Session, nodes: &[Arc<HeldNode>]) -> Result<(), ZkError> {
    let client = session.client()?;
    let mut reader = client.new_multi_reader();
    for node in nodes {
        reader.add_get_data(&node.path)?;
    }
    let answers = session.request(|| reader.commit()).await?;
    for (node, answer) in nodes.iter().zip(answers) {
        let is_gone = match answer {
            MultiReadResult::Data { stat, .. } => stat.czxid != node.czxid,
            MultiReadResult::Error { err } => err == ZkError::NoNode,
            _ => false,
        };
        if is_gone {
            // After a release this has no effect.
            node.attempt.report_lost(LostCause::Removed);
        }
    }
    Ok(())
}
