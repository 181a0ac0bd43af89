//! The time in which the old store is known to count: 30 s from a reading of its record that found it open.
//!
//! The switch closes the old store first, and then waits for longer than that. So it does not fall into this time, and an
//! acquire need not read the record of the new store.

use std::time::Duration;

use dlock_core::{
    AttemptId, BootInstant, Clock,
    backend::{Migration, MigrationStage},
    toolkit::Lock,
};

use super::{request::ANSWER_MAX, stores::Store};

/// The pause after a reading that did not find the old store open.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

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
    /// Until then the record is not read again.
    pause: Option<BootInstant>,
}

impl OldCounts {
    pub(super) fn new(old: Store, id: AttemptId, clock: Clock) -> Self {
        Self {
            old,
            id,
            clock,
            state: Lock::default(),
        }
    }

    /// Whether the old store counts at this moment. `false` if that is not known.
    pub(super) fn is_sure(&self) -> bool {
        let until = self.state.lock().until;
        until.is_some_and(|until| self.clock.now() < until)
    }

    /// Reads the record, unless it was not open a moment ago.
    pub(super) async fn read(&self) {
        let sent = self.clock.now();
        let pause = self.state.lock().pause;
        if pause.is_some_and(|pause| sent < pause) {
            return;
        }
        let found = tokio::time::timeout(ANSWER_MAX, self.old.migration()).await;
        let mut state = self.state.lock();
        if matches!(found, Ok(Ok(Some(found))) if self.is_open(&found)) {
            state.until = Some(sent.after(Migration::READ_VALID));
        } else {
            state.pause = Some(sent.after(AGAIN_AFTER));
        }
    }

    fn is_open(&self, found: &Migration) -> bool {
        found.stage == MigrationStage::Leaving && found.id == self.id
    }
}
