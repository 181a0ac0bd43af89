//! The time in which the old store is known to count: 30 s from a reading of its record that found it open.
//!
//! The switch closes the old store first, and then waits for longer than that. So it does not fall into this time, and
//! an acquire need not read the record of the new store.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    AttemptId, BootInstant, Clock,
    backend::{Migration, MigrationStage},
    toolkit::Lock,
};

use super::{request::ANSWER_MAX, stores::Store};

/// An acquire that finds no more time than this left has the record read again. It does not wait for that.
const READ_BEFORE_END: Duration = Duration::from_secs(10);

/// The least time between two readings. It is longer than a reading, so there is one at a time.
const READ_PAUSE: Duration = Duration::from_secs(10);

/// The record of the old store, as far as it is known.
pub(super) struct OldCounts {
    old: Store,
    id: AttemptId,
    clock: Clock,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    /// Until then the old store counts.
    until: Option<BootInstant>,
    /// The record is not read again before that.
    next_read: Option<BootInstant>,
}

impl OldCounts {
    /// Nothing is known of `old`.
    pub(super) fn new(old: Store, id: AttemptId, clock: Clock) -> Self {
        Self {
            old,
            id,
            clock,
            state: Lock::default(),
        }
    }

    /// Takes up a record that was requested at `sent`.
    pub(super) fn found(&self, record: Option<&Migration>, sent: BootInstant) {
        let is_open =
            |found: &Migration| found.stage == MigrationStage::Leaving && found.id == self.id;
        if record.is_some_and(is_open) {
            self.state.lock().until = Some(sent.after(Migration::READ_VALID));
        }
    }

    /// Whether the old store counts at this moment. `false` if that is not known.
    pub(super) fn is_sure(self: &Arc<Self>) -> bool {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let left = state.until.map_or(Duration::ZERO, |until| until.since(now));
        if left <= READ_BEFORE_END && state.next_read.is_none_or(|next| next <= now) {
            state.next_read = Some(now.after(READ_PAUSE));
            tokio::spawn(self.clone().read(now));
        }
        !left.is_zero()
    }

    async fn read(self: Arc<Self>, sent: BootInstant) {
        if let Ok(Ok(record)) = tokio::time::timeout(ANSWER_MAX, self.old.migration()).await {
            self.found(record.as_ref(), sent);
        }
    }
}
