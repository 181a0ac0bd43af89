//! Held locks whose nodes are not watched: looked at in rounds, many in a request.
//!
//! A session cannot have watches for many thousands of locks (`watch.rs`). What others did to the node of such a
//! lock is known a round later, one in a time-out of the session.

use std::sync::Arc;

use dlock_core::LostCause;
use zookeeper_client::{Error as ZkError, MultiReadResult};

use crate::hold::Entry;
use crate::session::Session;

/// So many nodes in a request.
const SIZE_MAX: usize = 500;

/// Runs until the session is over.
pub(crate) async fn run(session: Arc<Session>) {
    loop {
        let next = session.clock.now().after(session.times.timeout);
        tokio::select! {
            () = session.clock.sleep_until(next) => {}
            () = session.over() => return,
        }
        for entries in session.held.unwatched().chunks(SIZE_MAX) {
            if let Err(error) = look(&session, entries).await {
                tracing::debug!(%error, "held locks are looked at in the next round");
                break;
            }
        }
    }
}

async fn look(session: &Session, entries: &[Arc<Entry>]) -> Result<(), ZkError> {
    let client = session.client()?;
    let mut reader = client.new_multi_reader();
    for entry in entries {
        reader.add_get_data(&entry.path)?;
    }
    let answers = session.ask(|| reader.commit()).await?;
    for (entry, answer) in entries.iter().zip(answers) {
        let is_gone = match answer {
            MultiReadResult::Data { stat, .. } => stat.czxid != entry.czxid,
            MultiReadResult::Error { err } => err == ZkError::NoNode,
            _ => false,
        };
        if is_gone {
            // After a release nobody hears this.
            entry.attempt.report_lost(LostCause::Removed);
        }
    }
    Ok(())
}
