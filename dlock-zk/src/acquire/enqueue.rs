//! The node of an attempt: created in the queue, and found again when its creation was not answered.

use dlock_core::{Holder, Result, backend::Wait};
use zookeeper_client::{CreateMode, Error as ZkError};

use super::{
    acquisition::{Acquisition, QueueNode, QueueView},
    undo::undo,
};
use crate::{
    errors,
    nodes::{acls, make_directory, pause},
    queue::order,
    session::late::own_nodes,
};

/// The number of tries to create the lock's directory when it vanishes: the servers remove empty containers (T49).
const DIRECTORY_TRIES_MAX: u32 = 5;

/// Enters the queue. An attempt that waits retries while the servers cannot be reached (K6).
///
/// # Errors
///
/// No node is left, or it ends with the session.
pub(super) async fn enqueue(acquisition: &Acquisition<'_>) -> Result<QueueNode> {
    let node = create_until_answered(acquisition).await?;
    let id = acquisition.request.attempt.id();
    let unanswered = &acquisition.session.unanswered;
    unanswered.set_settled(id, Some(&node.name));
    if order::is_counted(acquisition.config.format, &node.name) {
        return Ok(node);
    }
    Box::pin(undo(acquisition, &node)).await;
    Err(order::used_up(&acquisition.path.directory))
}

async fn create_until_answered(acquisition: &Acquisition<'_>) -> Result<QueueNode> {
    let Acquisition {
        session,
        request,
        path,
        ..
    } = acquisition;
    let data = Holder::encode(request, None);
    let waits = request.wait == Wait::UntilCancelled;
    let (unanswered, id) = (&session.unanswered, request.attempt.id());
    unanswered.set_creating(id);
    loop {
        // Boxed here and below: the futures of acquires stay small.
        let error = match Box::pin(create(acquisition, data.as_bytes())).await {
            Ok(node) => return Ok(node),
            Err(error) => error,
        };
        if session.has_ended() {
            return Err(errors::session_ended());
        }
        if !errors::is_retryable(&error) {
            return Err(errors::of_request(error));
        }
        let is_effect_unknown = errors::is_effect_unknown(&error);
        let error = errors::of_request(error);
        request.attempt.report_unavailable(&error);
        if is_effect_unknown {
            // If it is not found, it may still come (`zk.late`).
            unanswered.add(id, path, session.clock.now());
            if let Some(found) = Box::pin(find_until_answered(acquisition)).await? {
                return Ok(found);
            }
        }
        if request.attempt.is_cancelled() || !(is_effect_unknown || waits) {
            return Err(error);
        }
        tracing::debug!(%error, "the lock's node is not created yet");
        tokio::select! {
            () = Box::pin(pause(session)) => {}
            () = request.attempt.cancelled() => {}
        }
    }
}

/// Creates the node, and lists the queue in the same round trip, unless the node's number is likely to prove that it
/// is alone. Creates the directory if it is missing.
async fn create(acquisition: &Acquisition<'_>, data: &[u8]) -> Result<QueueNode, ZkError> {
    let Acquisition {
        session,
        config,
        path,
        ..
    } = acquisition;
    let acls = acls(config);
    let options = CreateMode::EphemeralSequential.with_acls(acls);
    let prefix = path.create_prefix();
    let client = session.client()?;
    let mut tries = 0;
    loop {
        let created = session.request(|| {
            let write = session.liveness.begin_write();
            let create = client.create(&prefix, data, &options);
            let can_skip_list = session.sequences.can_skip_list(&path.directory);
            let client = &client;
            async move {
                if can_skip_list {
                    let (stat, sequence) = create.await?;
                    return Ok((write, stat, sequence, None));
                }
                let list = session.lists.children(client, &path.directory);
                let (created, listed) = tokio::join!(create, list);
                created.map(|(stat, sequence)| (write, stat, sequence, listed))
            }
        });
        match created.await {
            Ok((_, stat, _, _)) if !session.owns(stat.ephemeral_owner) => {
                session.end();
                return Err(ZkError::SessionExpired);
            }
            Ok((write, stat, sequence, children)) => {
                session.liveness.acknowledged(write);
                let number = QueueView::Number(sequence.into_i64());
                return Ok(QueueNode {
                    name: format!("{}{sequence}", path.node_prefix),
                    czxid: stat.czxid,
                    view: Some(children.map_or(number, QueueView::Children)),
                });
            }
            Err(ZkError::NoNode) if tries < DIRECTORY_TRIES_MAX => {
                tries += 1;
                let make = || make_directory(&client, &path.directory, config.format, &acls);
                Box::pin(session.request(make)).await?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The node whose creation was not answered (K9): searches until there is an answer, or the session has ended.
async fn find_until_answered(acquisition: &Acquisition<'_>) -> Result<Option<QueueNode>> {
    let session = acquisition.session;
    loop {
        match find(acquisition).await {
            Ok(found) => return Ok(found),
            Err(_) if session.has_ended() => return Err(errors::session_ended()),
            Err(error) if errors::is_retryable(&error) => pause(session).await,
            Err(error) => return Err(errors::of_request(error)),
        }
    }
}

/// Searches the node by its GUID. `sync` makes a server that is behind catch up, which could hide the node (T42).
async fn find(acquisition: &Acquisition<'_>) -> Result<Option<QueueNode>, ZkError> {
    let Acquisition { session, path, .. } = acquisition;
    let client = session.client()?;
    let both = || {
        let synced = client.sync(&path.directory);
        let listed = client.list_children(&path.directory);
        async { Ok(tokio::join!(synced, listed)) }
    };
    let (synced, listed) = session.request(both).await?;
    synced?;
    let children = match listed {
        Err(ZkError::NoNode) => return Ok(None),
        children => children?,
    };
    let own = own_nodes(session, &client, path, &children).await?;
    Ok(own.into_iter().next().map(|(name, czxid)| QueueNode {
        name,
        czxid,
        view: Some(QueueView::Children(children)),
    }))
}
