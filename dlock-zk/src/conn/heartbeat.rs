//! One small write for all locks of a session, every sixth of its time-out while there are any, and else a
//! `sync`, which writes nothing.

use std::sync::Arc;

use dlock_core::BootInstant;
use tokio::time::timeout;
use zookeeper_client::{Acls, Client, CreateMode, Error as ZkError};

use crate::acquire::enqueue::acls;
use crate::acquire::enqueue::make_directory;
use crate::config::ZkConfig;
use crate::errors;
use crate::hold as entry;
use crate::keys as layout;
use crate::liveness::proof::Verdict;
use crate::session::Session;
use crate::watch::Line;

/// Writes come at least this often in a session's time-out.
const BEATS: u32 = 6;

/// A write that failed is made again after this part of the time between two.
const RETRY_PART: u32 = 8;

/// Runs until the session is over.
pub(crate) async fn run(session: Arc<Session>, config: ZkConfig) {
    let Ok(client) = session.client() else { return };
    let mut node = Node {
        path: format!("{}/{}", layout::alive(&config.prefix), client.session_id()),
        dir: layout::alive(&config.prefix),
        acls: acls(&config),
        line: Line::new(client.state_watcher()),
        is_there: false,
    };
    // The last client that is dropped ends the session.
    drop(client);
    let every = session.times.timeout / BEATS;
    let mut due = session.clock.now().after(every);
    loop {
        tokio::select! {
            () = session.clock.sleep_until(due) => {}
            () = session.demand.notified() => {}
            () = session.over() => return,
        }
        entry::sweep(&session);
        due = tokio::select! {
            due = beat(&session, &mut node) => due,
            () = session.over() => return,
        };
    }
}

/// One write; when the next is due.
async fn beat(session: &Session, node: &mut Node) -> BootInstant {
    let every = session.times.timeout / BEATS;
    let writing = session.writing();
    session.flow.beat();
    let next = writing.sent.instant().after(every);
    let Ok(client) = session.client() else {
        return next;
    };
    if session.is_idle() {
        node.remove(&client).await;
        // The next lock needs an exchange before it. Its path does not matter.
        if session.answer(client.sync("/")).await.is_ok() {
            session.flow.beaten();
            session.answered(writing);
        }
        return next;
    }
    match timeout(every, node.write(&client)).await {
        Ok(Ok(owner)) if session.owns(owner) => {
            session.flow.beaten();
            match session.acknowledged(writing) {
                // Two are needed, between which the leader asks, and a third.
                Verdict::NotYet if session.writing().told > writing.told => session.clock.now(),
                Verdict::NotYet => session.clock.now().after(session.times.asked_every()),
                Verdict::Lives(_) | Verdict::Late => next,
            }
        }
        Ok(Err(error)) if !errors::ends_session(&error) => {
            if errors::is_transient(&error) {
                tracing::debug!(%error, "a heartbeat failed");
            } else {
                tracing::warn!(%error, path = node.path, "a heartbeat is refused; locks will be lost");
            }
            session.clock.now().after(every / RETRY_PART)
        }
        // No answer: another one at once.
        Err(_) => session.clock.now(),
        Ok(_) => {
            session.end();
            next
        }
    }
}

/// The session's own node.
struct Node {
    path: String,
    dir: String,
    acls: Acls<'static>,
    line: Line,
    /// Made over the connection that there is, and ours.
    is_there: bool,
}

impl Node {
    /// Writes, and says whose session it was.
    ///
    /// Over each new connection the node is made anew: only that tells in whose session we are, which
    /// may not be the one that we had (T44).
    async fn write(&mut self, client: &Client) -> Result<i64, ZkError> {
        if self.line.has_changed() {
            self.is_there = false;
        }
        let owner = if self.is_there {
            match client.set_data(&self.path, &[], None).await {
                Err(ZkError::NoNode) => self.make(client).await?,
                written => written?.ephemeral_owner,
            }
        } else {
            self.make(client).await?
        };
        // What was acknowledged over a connection that we have not looked at proves nothing.
        self.is_there = !self.line.has_changed();
        if self.is_there {
            Ok(owner)
        } else {
            Err(ZkError::ConnectionLoss)
        }
    }

    async fn make(&self, client: &Client) -> Result<i64, ZkError> {
        let options = CreateMode::Ephemeral.with_acls(self.acls);
        let delete = client.delete(&self.path, None);
        let create = client.create(&self.path, &[], &options);
        match tokio::join!(delete, create).1 {
            Err(ZkError::NoNode) => {
                make_directory(client, &self.dir, &self.acls).await?;
                let made = client.create(&self.path, &[], &options).await;
                made.map(|(stat, _)| stat.ephemeral_owner)
            }
            made => made.map(|(stat, _)| stat.ephemeral_owner),
        }
    }

    /// Nothing is held: nothing is left (K12).
    async fn remove(&mut self, client: &Client) {
        if std::mem::take(&mut self.is_there) {
            // If it fails, the node ends with the session.
            let _ = client.delete(&self.path, None).await;
        }
    }
}
