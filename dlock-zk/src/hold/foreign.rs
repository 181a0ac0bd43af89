//! Clients of other recipes that enter the queue of a held lock.
//!
//! A client that comes second and knows only nodes of its own recipe does not wait for ours: it holds the lock, too. That
//! is so for kazoo's `Lock` with its default settings. So a node of another recipe is the loss of the lock. A client whose
//! settings make it wait has such a node as well; then the loss comes early, and no two hold the lock.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dlock_core::LostCause;
use zookeeper_client::{Error as ZkError, EventType};

use crate::{
    queue::order,
    session::{Session, holds::HeldNode},
    watch::{Purpose, Watch},
};

/// A lock that is held for longer than this is worth the requests for a watch.
const WATCH_AFTER: Duration = Duration::from_millis(50);

/// The least time between two lists of a queue: many of our own clients may enter and leave it.
const LIST_EVERY: Duration = Duration::from_millis(100);

/// Watches the queues of held locks, until the session has ended.
pub(crate) async fn run(session: Arc<Session>) {
    loop {
        tokio::select! {
            () = session.granted.notified() => {}
            () = session.connection.ended() => return,
        }
        let mut has_younger = true;
        while has_younger {
            let next = session.clock.now().after(WATCH_AFTER);
            tokio::select! {
                () = session.clock.sleep_until(next) => {}
                () = session.connection.ended() => return,
            }
            has_younger = watch_queues(&session).await;
        }
    }
}

/// Whether some locks are not held for long enough yet. A failure is made up for by the next renewal.
async fn watch_queues(session: &Arc<Session>) -> bool {
    let mut has_younger = false;
    for node in session.holds.queue_unwatched() {
        if session.clock.now().since(node.since) < WATCH_AFTER {
            has_younger = true;
            continue;
        }
        match watch_queue(session, &node).await {
            Ok(false) => {}
            Ok(true) => node.attempt.report_lost(LostCause::Taken),
            Err(error) => tracing::debug!(%error, "the queue of a held lock is not watched yet"),
        }
    }
    has_younger
}

/// Whether a client of another recipe is in the queue. From now on it is watched, if the budget allows that.
pub(super) async fn watch_queue(
    session: &Arc<Session>,
    node: &Arc<HeldNode>,
) -> Result<bool, ZkError> {
    if node.is_queue_watched() {
        return Ok(false);
    }
    let client = session.client()?;
    let Some(permit) = session
        .watches
        .permit(&client, &node.directory, Purpose::Queue)
    else {
        return Ok(false);
    };
    let listed = session.request(|| client.list_and_watch_children(&node.directory));
    let (children, watcher) = listed.await?;
    if has_foreign(session, node, &children) {
        return Ok(true);
    }
    let watch = permit.watch(watcher);
    let task = report_foreign(Arc::downgrade(session), Arc::downgrade(node), watch);
    node.set_queue_watch(tokio::spawn(task).abort_handle());
    Ok(false)
}

/// Whether the queue has a node of another recipe; the log says which one.
pub(super) fn has_foreign(session: &Session, held: &HeldNode, children: &[String]) -> bool {
    let foreign = order::foreign_node(session.format, children);
    if let Some(node) = foreign {
        let directory = &held.directory;
        tracing::warn!(
            node,
            directory,
            "a client of another recipe, such as kazoo's Lock, has entered the queue of a held lock"
        );
    }
    foreign.is_some()
}

/// Reports that a client of another recipe has entered. The task ends with the hold.
async fn report_foreign(session: Weak<Session>, node: Weak<HeldNode>, mut watch: Watch) {
    loop {
        let (event, permit) = watch.event().await;
        let (Some(session), Some(node)) = (session.upgrade(), node.upgrade()) else {
            return;
        };
        let Ok(client) = session.client() else {
            return;
        };
        if event != EventType::NodeChildrenChanged {
            return node.set_queue_unwatched();
        }
        let listed = session.request(|| client.list_and_watch_children(&node.directory));
        match listed.await {
            Ok((children, _)) if has_foreign(&session, &node, &children) => {
                return node.attempt.report_lost(LostCause::Taken);
            }
            Ok((_, watcher)) => watch = permit.watch(watcher),
            Err(_) => return node.set_queue_unwatched(),
        }
        drop((session, node, client));
        tokio::time::sleep(LIST_EVERY).await;
    }
}
