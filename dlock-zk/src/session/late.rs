//! Nodes that were created late, by a creation that was not answered: they are searched and deleted.

use std::{sync::Arc, time::Duration};

use zookeeper_client::{Client, Error as ZkError};

use super::{Session, unanswered::Settled};
use crate::{keys::AttemptPath, queue::list_batch::children_of};

/// The interval of searches: a late node has no holder for so long (`zk.late`).
const SEARCH_EVERY: Duration = Duration::from_secs(1);

/// The most queues in a request.
const SIZE_MAX: usize = 500;

/// Searches and deletes late nodes until the session has ended.
pub(crate) async fn run(session: Arc<Session>) {
    loop {
        tokio::select! {
            () = session.unanswered.any() => {}
            () = session.connection.ended() => return,
        }
        let next = session.clock.now().after(SEARCH_EVERY);
        tokio::select! {
            () = session.clock.sleep_until(next) => {}
            () = session.connection.ended() => return,
        }
        let settled = session.unanswered.settled(session.clock.now());
        for attempts in settled.chunks(SIZE_MAX) {
            if let Err(error) = search(&session, attempts).await {
                tracing::debug!(%error, "late nodes are searched again");
                break;
            }
        }
    }
}

async fn search(session: &Session, attempts: &[Settled]) -> Result<(), ZkError> {
    let client = session.client()?;
    let mut reader = client.new_multi_reader();
    for attempt in attempts {
        reader.add_get_children(&attempt.path.directory)?;
    }
    let answers = session.request(|| reader.commit()).await?;
    for (attempt, answer) in attempts.iter().zip(answers) {
        // A directory without nodes may be gone.
        let children = children_of(answer).unwrap_or_default();
        delete_late(session, &client, attempt, &children).await?;
        session.unanswered.searched(attempt);
    }
    Ok(())
}

async fn delete_late(
    session: &Session,
    client: &Client,
    attempt: &Settled,
    children: &[String],
) -> Result<(), ZkError> {
    for (child, _) in own_nodes(session, client, &attempt.path, children).await? {
        if !session.unanswered.is_late(attempt, &child) {
            continue;
        }
        let node = attempt.path.child(&child);
        tracing::debug!(node, "a node that was created late is deleted");
        match session.request(|| client.delete(&node, None)).await {
            Ok(()) | Err(ZkError::NoNode) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The nodes of an attempt among the `children` of its directory, with the transactions that created them. A node of an
/// older session is about to be deleted (T43).
pub(crate) async fn own_nodes(
    session: &Session,
    client: &Client,
    path: &AttemptPath,
    children: &[String],
) -> Result<Vec<(String, i64)>, ZkError> {
    let mut own = Vec::new();
    for child in children {
        if !child.starts_with(&path.node_prefix) {
            continue;
        }
        let node = path.child(child);
        let stat = session.request(|| client.check_stat(&node)).await?;
        if let Some(stat) = stat.filter(|stat| session.owns(stat.ephemeral_owner)) {
            own.push((child.clone(), stat.czxid));
        }
    }
    Ok(own)
}
