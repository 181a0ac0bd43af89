//! Heartbeats: one small write for all locks of a session, every sixth of its time-out.
//!
//! While there are no locks and no attempts, a `sync` is sent instead, which writes nothing.

use std::sync::Arc;

use dlock_core::BootInstant;
use tokio::time::timeout;
use zookeeper_client::{Acls, Client, CreateMode, Error as ZkError};

use crate::{
    config::ZkConfig,
    errors, hold,
    keys::{self, Format},
    liveness::proof::Evidence,
    nodes::{acls, make_directory},
    session::Session,
    watch::ConnectionMonitor,
};

/// The heartbeats in a session's time-out.
const HEARTBEATS: u32 = 6;

/// A write that failed is retried after this part of the time between two.
const RETRY_PART: u32 = 8;

/// Runs until the session has ended.
pub(super) async fn run(session: Arc<Session>, config: ZkConfig) {
    let Ok(client) = session.client() else { return };
    let mut node = Node {
        path: format!("{}/{}", keys::alive(&config.prefix), client.session_id()),
        directory: keys::alive(&config.prefix),
        format: config.format,
        acls: acls(&config),
        connection: ConnectionMonitor::new(client.state_watcher()),
        exists: false,
    };
    // The last client that is dropped ends the session.
    drop(client);
    let every = session.liveness.times.timeout / HEARTBEATS;
    let mut due = session.clock.now().after(every);
    loop {
        tokio::select! {
            () = session.clock.sleep_until(due) => {}
            () = session.liveness.heartbeat_requested() => {}
            () = session.connection.ended() => return,
        }
        hold::delete_expired(&session);
        due = tokio::select! {
            due = send(&session, &mut node) => due,
            () = session.connection.ended() => return,
        };
    }
}

/// Sends one heartbeat, and returns when the next one is due.
async fn send(session: &Session, node: &mut Node) -> BootInstant {
    let liveness = &session.liveness;
    let every = liveness.times.timeout / HEARTBEATS;
    let write = liveness.begin_write();
    session.limit.heartbeat_sent();
    let next = write.sent.instant().after(every);
    let Ok(client) = session.client() else {
        return next;
    };
    if session.is_idle() {
        node.remove(&client).await;
        // The next lock needs an exchange before it. Its path does not matter.
        if session.await_reply(client.sync("/")).await.is_ok() {
            session.limit.heartbeat_answered();
            liveness.answered(write);
        }
        return next;
    }
    match timeout(every, node.write(&client)).await {
        Ok(Ok(owner)) if session.owns(owner) => {
            session.limit.heartbeat_answered();
            match liveness.acknowledged(write) {
                // Two exchanges are needed with a poll of the leader between them, and a third one.
                Evidence::ContactTooOld if liveness.begin_write().contact > write.contact => {
                    session.clock.now()
                }
                Evidence::ContactTooOld => session.clock.now().after(liveness.times.polled_every()),
                Evidence::Proves(_) | Evidence::TooSlow => next,
            }
        }
        Ok(Err(error)) if !errors::ends_session(&error) => {
            if errors::is_retryable(&error) {
                tracing::debug!(%error, "a heartbeat failed");
            } else {
                tracing::warn!(%error, path = node.path, "a heartbeat is refused; locks will be lost");
            }
            session.clock.now().after(every / RETRY_PART)
        }
        // Without an answer the next one is sent at once.
        Err(_) => session.clock.now(),
        Ok(_) => {
            session.end();
            next
        }
    }
}

/// The node that the heartbeats of a session write.
struct Node {
    path: String,
    directory: String,
    format: Format,
    acls: Acls<'static>,
    connection: ConnectionMonitor,
    /// Created by this session over the current connection.
    exists: bool,
}

impl Node {
    /// Writes the node, and returns the session that owns it.
    ///
    /// Over each new connection the node is recreated. Only that shows the client's session, which the server may
    /// have replaced (T44).
    async fn write(&mut self, client: &Client) -> Result<i64, ZkError> {
        if self.connection.has_changed() {
            self.exists = false;
        }
        let owner = if self.exists {
            match client.set_data(&self.path, &[], None).await {
                Err(ZkError::NoNode) => self.create(client).await?,
                written => written?.ephemeral_owner,
            }
        } else {
            self.create(client).await?
        };
        // An acknowledgement over a connection whose session is not verified proves nothing.
        self.exists = !self.connection.has_changed();
        if self.exists {
            Ok(owner)
        } else {
            Err(ZkError::ConnectionLoss)
        }
    }

    async fn create(&self, client: &Client) -> Result<i64, ZkError> {
        let options = CreateMode::Ephemeral.with_acls(self.acls);
        let delete = client.delete(&self.path, None);
        let create = client.create(&self.path, &[], &options);
        match tokio::join!(delete, create).1 {
            Err(ZkError::NoNode) => {
                make_directory(client, &self.directory, self.format, &self.acls).await?;
                let created = client.create(&self.path, &[], &options).await;
                created.map(|(stat, _)| stat.ephemeral_owner)
            }
            created => created.map(|(stat, _)| stat.ephemeral_owner),
        }
    }

    /// Deletes the node of a session that holds nothing (K12).
    async fn remove(&mut self, client: &Client) {
        if std::mem::take(&mut self.exists) {
            // If this fails, the node ends with the session.
            let _ = client.delete(&self.path, None).await;
        }
    }
}
