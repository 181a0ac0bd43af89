//! One attempt in one session: what it acquires, and its node in the queue.

use std::{sync::Arc, time::Duration};

use dlock_core::backend::AcquireRequest;

use crate::{config::ZkConfig, keys::AttemptPath, session::Session};

/// The pause before an attempt continues in another session, or over another connection.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(200);

/// One attempt in one session.
pub(super) struct Acquisition<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) config: &'a ZkConfig,
    pub(super) request: &'a AcquireRequest,
    pub(super) path: AttemptPath,
}

impl<'a> Acquisition<'a> {
    pub(super) fn new(
        session: &'a Arc<Session>,
        config: &'a ZkConfig,
        request: &'a AcquireRequest,
    ) -> Self {
        Self {
            session,
            config,
            request,
            path: AttemptPath::new(
                config.format,
                &config.prefix,
                &request.name,
                request.attempt.id(),
            ),
        }
    }
}

impl Drop for Acquisition<'_> {
    /// The attempt has ended, or holds the lock: it creates no node any more.
    fn drop(&mut self) {
        let Self { session, path, .. } = self;
        let id = self.request.attempt.id();
        let held = session.holds.find(id);
        let own = held.as_ref().and_then(|held| path.name_of(&held.path));
        session.unanswered.set_settled(id, own);
    }
}

/// The node of an attempt in its queue.
pub(super) struct QueueNode {
    pub(super) name: String,
    pub(super) czxid: i64,
    /// The queue just after the creation; used once.
    pub(super) view: Option<QueueView>,
}

/// The queue just after the creation of a node.
pub(super) enum QueueView {
    /// Only the node's sequence number is known.
    Number(i64),
    /// The nodes of the queue.
    Children(Vec<String>),
}
