//! The time in which the old store is known to count: 30 s from a reading that found it open, and no switch.
//!
//! The switch closes the old store first, and then waits for longer than that. So it does not fall into this time, and an
//! acquire need not read the record of the new store. Both records are read: a former primary of the old store may show
//! for ever that it is open.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    AttemptId, BootInstant, Clock,
    backend::{Migration, MigrationStage},
    toolkit::Lock,
};

use super::stores::Store;

/// An acquire that finds no more time than this left has the records read again. It does not wait for that.
const READ_BEFORE_END: Duration = Duration::from_secs(10);

/// The least time between two readings.
const READ_PAUSE: Duration = Duration::from_secs(10);

/// The longest reading. It is shorter than the pause, so that there is one at a time while the machine is awake.
const READ_MAX: Duration = Duration::from_secs(2);

/// Both records, as far as they are known.
pub(super) struct OldCounts {
    old: Store,
    new: Store,
    id: AttemptId,
    clock: Clock,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    /// Until then the old store counts.
    until: Option<BootInstant>,
    /// The records are not read again before that.
    next_read: Option<BootInstant>,
}

impl OldCounts {
    /// Nothing is known.
    pub(super) fn new(old: Store, new: Store, id: AttemptId) -> Self {
        let clock = new.backend.clock();
        Self {
            old,
            new,
            id,
            clock,
            state: Lock::default(),
        }
    }

    /// Takes up the records of both stores that were requested at `sent`.
    pub(super) fn found(
        &self,
        old: Option<&Migration>,
        new: Option<&Migration>,
        sent: BootInstant,
    ) {
        let is_at = |record: Option<&Migration>, stage| {
            record.is_some_and(|found| found.stage == stage && found.id == self.id)
        };
        if is_at(old, MigrationStage::Leaving) && is_at(new, MigrationStage::Arriving) {
            let mut state = self.state.lock();
            // After a suspension of the machine a reading may end after a later one. Each is a proof by itself.
            state.until = state.until.max(Some(sent.after(Migration::READ_VALID)));
        }
    }

    /// Whether the old store counts at this moment. `false` if that is not known. Has the records read again if that will
    /// soon be so.
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
        let reading = async { tokio::try_join!(self.old.migration(), self.new.migration()) };
        if let Ok(Ok((old, new))) = tokio::time::timeout(READ_MAX, reading).await {
            self.found(old.as_ref(), new.as_ref(), sent);
        }
    }
}
