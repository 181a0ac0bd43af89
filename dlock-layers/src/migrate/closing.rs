//! An old store that is closed to programs that use it alone, before the switch.

use std::time::Duration;

use dlock_core::{
    AttemptId,
    backend::{Migration, MigrationStage},
};

/// An old store that was closed by [`Steps::close`](super::Steps::close).
#[derive(Debug)]
pub struct Closed {
    pub(super) old: Migration,
    pub(super) wait: Duration,
}

impl Closed {
    /// How long to wait: [`Migration::CLOSE_WAIT`], or zero after a switch. By then programs that use the old store alone
    /// have lost their locks. Those with `migrate:` read the record of the new store for each grant.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

/// A migration whose old store is closed, or further.
pub(super) struct Closing {
    pub(super) id: AttemptId,
    pub(super) old: Migration,
    pub(super) new: Option<Migration>,
}

impl Closing {
    /// Whether the switch is done: the locks of the new store count.
    pub(super) fn has_arrived(&self) -> bool {
        let new = self.new.as_ref().filter(|new| new.id == self.id);
        new.is_some_and(|new| new.stage == MigrationStage::Arrived)
    }
}
