//! The nodes by which a session holds locks.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use dlock_core::{AttemptId, BootInstant, backend::Attempt, toolkit::Lock};
use tokio::task::AbortHandle;

/// No connection has this generation.
const UNVERIFIED: u64 = 0;

/// A node that holds a lock.
pub(crate) struct HeldNode {
    pub(crate) attempt: Attempt,
    pub(crate) path: String,
    /// The lock's directory.
    pub(crate) directory: String,
    /// The transaction that created the node, and no other one.
    pub(crate) czxid: i64,
    /// When it became the first of its queue.
    pub(crate) since: BootInstant,
    times: Lock<Times>,
    /// The connection over which the node was verified last.
    verified_over: AtomicU64,
    is_watched: AtomicBool,
    is_expiring: AtomicBool,
    /// The task that watches the queue for nodes of other recipes.
    queue_watch: Lock<Option<AbortHandle>>,
}

#[derive(Clone, Copy)]
struct Times {
    /// When the last write was sent that proved the hold to core.
    proved: BootInstant,
    deadline: BootInstant,
}

impl HeldNode {
    pub(crate) fn new(
        attempt: Attempt,
        path: String,
        directory: String,
        czxid: i64,
        since: BootInstant,
    ) -> Self {
        Self {
            attempt,
            path,
            directory,
            czxid,
            since,
            times: Lock::new(Times {
                proved: BootInstant::from_nanos(0),
                deadline: BootInstant::FOREVER,
            }),
            verified_over: AtomicU64::new(UNVERIFIED),
            is_watched: AtomicBool::new(false),
            is_expiring: AtomicBool::new(false),
            queue_watch: Lock::new(None),
        }
    }

    /// Notes that core holds the lock until `deadline`, by the write sent at `proved`.
    pub(crate) fn set_deadline(&self, proved: BootInstant, deadline: BootInstant) {
        *self.times.lock() = Times { proved, deadline };
    }

    /// When the last write was sent that proved the hold to core.
    pub(crate) fn proved(&self) -> BootInstant {
        self.times.lock().proved
    }

    fn is_expired(&self, now: BootInstant) -> bool {
        self.times.lock().deadline <= now && !self.is_expiring()
    }

    /// Whether the node was verified over the connection `generation`.
    pub(crate) fn is_verified_over(&self, generation: u64) -> bool {
        self.verified_over.load(Ordering::Acquire) == generation
    }

    pub(crate) fn set_verified_over(&self, generation: u64) {
        self.verified_over.store(generation, Ordering::Release);
    }

    /// Whether the server reports at once what others do to the node.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Acquire)
    }

    /// Notes that the node is watched; false if it was watched before.
    pub(crate) fn set_watched(&self) -> bool {
        !self.is_watched.swap(true, Ordering::AcqRel)
    }

    /// Notes that the watch is gone: the next renewal verifies the node and watches it again.
    pub(crate) fn set_unwatched(&self) {
        self.is_watched.store(false, Ordering::Release);
        self.set_verified_over(UNVERIFIED);
    }

    /// Whether a task watches the queue for nodes of other recipes.
    pub(crate) fn is_queue_watched(&self) -> bool {
        self.queue_watch.lock().is_some()
    }

    /// Notes the task that watches the queue; the one before it ends.
    pub(crate) fn set_queue_watch(&self, task: AbortHandle) {
        if let Some(before) = self.queue_watch.lock().replace(task) {
            before.abort();
        }
    }

    /// Notes that the queue is not watched any more: the next renewal watches it again.
    pub(crate) fn set_queue_unwatched(&self) {
        self.end_queue_watch();
        self.set_verified_over(UNVERIFIED);
    }

    /// Ends the task that watches the queue.
    pub(crate) fn end_queue_watch(&self) {
        if let Some(task) = self.queue_watch.lock().take() {
            task.abort();
        }
    }

    /// Whether the node is being deleted because its deadline has passed.
    pub(crate) fn is_expiring(&self) -> bool {
        self.is_expiring.load(Ordering::Acquire)
    }

    pub(crate) fn set_expiring(&self) {
        self.is_expiring.store(true, Ordering::Release);
    }
}

impl Drop for HeldNode {
    fn drop(&mut self) {
        self.end_queue_watch();
    }
}

/// The locks that a session holds, by attempt.
#[derive(Default)]
pub(crate) struct Holds(Lock<HashMap<AttemptId, Arc<HeldNode>>>);

impl Holds {
    pub(crate) fn insert(&self, node: &Arc<HeldNode>) {
        self.0.lock().insert(node.attempt.id(), node.clone());
    }

    /// The lock that this attempt holds already: it is acquired again when its grant got lost (K9).
    pub(crate) fn find(&self, id: AttemptId) -> Option<Arc<HeldNode>> {
        let node = self.0.lock().get(&id).cloned();
        node.filter(|node| !node.is_expiring())
    }

    pub(crate) fn remove(&self, node: &HeldNode) {
        self.0.lock().remove(&node.attempt.id());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The locks whose deadline has passed without a renewal.
    pub(crate) fn expired(&self, now: BootInstant) -> Vec<Arc<HeldNode>> {
        self.filtered(|node| node.is_expired(now))
    }

    /// The locks of which the server would not report everything: their removal, or nodes of other recipes.
    pub(crate) fn unwatched(&self) -> Vec<Arc<HeldNode>> {
        self.filtered(|node| !node.is_watched() || !node.is_queue_watched())
    }

    /// The locks in whose queues the server would not report nodes of other recipes.
    pub(crate) fn queue_unwatched(&self) -> Vec<Arc<HeldNode>> {
        self.filtered(|node| !node.is_queue_watched())
    }

    fn filtered(&self, matches: impl Fn(&HeldNode) -> bool) -> Vec<Arc<HeldNode>> {
        let nodes = self.0.lock();
        let matching = nodes.values().filter(|node| matches(node));
        matching.cloned().collect()
    }

    /// Removes all locks from the table.
    pub(super) fn take(&self) -> impl Iterator<Item = Arc<HeldNode>> + use<> {
        std::mem::take(&mut *self.0.lock()).into_values()
    }
}
