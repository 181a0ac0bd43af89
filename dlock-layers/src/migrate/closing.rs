//! An old store that is closed to programs that use it alone, before the switch.

use std::time::Duration;

use dlock_core::{
    AttemptId, Result,
    backend::{Migration, MigrationStage},
};

use super::{
    steps::Steps,
    stores::changed,
};

/// An old store that was closed by [`Steps::close`].
#[derive(Debug)]
pub struct Closed {
    pub(super) old: Migration,
    pub(super) wait: Duration,
}

impl Closed {
    /// How long to wait until programs that use the old store alone have lost their locks: [`Migration::CLOSE_WAIT`], or
    /// zero after a switch.
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

impl Steps {
    /// Closes the old store, unless the switch has gone on from there.
    pub(super) async fn begin_closing(&self) -> Result<Closing> {
        use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
        let status = self.status().await?;
        self.check_order(&status)?;
        if let Some(left) = self.restore(&status).await? {
            return Ok(Closing {
                id: left.id,
                old: left,
                new: status.new,
            });
        }
        let Some(old) = status.old.as_ref() else {
            return Err(self.none(&status));
        };
        let new = status.new.as_ref();
        if !self.is_with_new(old, new) {
            return Err(self.none(&status));
        }
        self.check_same_base(old)?;
        let id = old.id;
        let of_this = new.filter(|new| new.id == id);
        let old = match (old.stage, of_this.map(|new| new.stage)) {
            (Leaving, Some(Arriving)) => {
                let closed = self.record(Closed, id, &self.new_url);
                self.old.advance(Some(old), &closed).await?;
                closed
            }
            // The last two: the new store has lost its record, or the last change of it.
            (Leaving | Closed | Left, Some(Arrived)) | (Closed | Left, None | Some(Arriving)) => {
                old.clone()
            }
            (Leaving | Closed, Some(Cancelled)) | (Cancelled, _) => return Err(self.cancelled()),
            _ => return Err(self.none(&status)),
        };
        if of_this.is_none() {
            self.check_lost(&old, new).await?;
        }
        Ok(Closing {
            id,
            old,
            new: status.new,
        })
    }

    /// Refuses a new store whose record is not of this migration because it was cancelled and another one was begun,
    /// rather than because the store has lost it. Both records were not read in one moment.
    async fn check_lost(&self, old: &Migration, new: Option<&Migration>) -> Result<()> {
        use MigrationStage::{Cancelled, Left};
        let is_older = |new: &Migration| matches!(new.stage, Cancelled | Left);
        if let Some(found) = new.filter(|new| !is_older(new)) {
            return Err(self.not_startable(&self.new, found, Some(old)));
        }
        // As it was when the other one was read. A cancellation from now on changes the new store first.
        if self.old.migration().await?.as_ref() == Some(old) {
            return Ok(());
        }
        Err(self.old.in_context(changed()))
    }
}
