//! An old store that has lost its record, as an empty Redis has. After the switch `switch`, once more, writes it again.
//! Before the switch `cancel` ends the migration in the new store.
//!
//! Without it a program that was forgotten uses the old store alone, beside those whose locks are in the new one.

use dlock_core::{
    Result,
    backend::{Migration, MigrationStage},
};

use super::{
    status::Status,
    steps::Steps,
    stores::{changed, other_base},
};

/// Whether the old store, whose record is `old`, has lost that of the migration in the record of the new one.
///
/// While that migration is under way, or has made the new store count, no step takes it away.
pub(super) fn is_lost(old: Option<&Migration>, new: &Migration) -> bool {
    use MigrationStage::{Arrived, Arriving, Cancelled};
    // An earlier one may have come back, as from a copy of the data. A later one means that the new store's has come
    // back.
    let is_of_earlier = |old: &Migration| {
        old.id != new.id
            && old.since_unix_micros <= new.since_unix_micros
            && matches!(old.stage, Cancelled | Arrived)
    };
    matches!(new.stage, Arriving | Arrived) && old.is_none_or(is_of_earlier)
}

/// As [`is_lost`], after the switch.
pub(super) fn is_lost_after_switch(old: Option<&Migration>, new: &Migration) -> bool {
    new.stage == MigrationStage::Arrived && is_lost(old, new)
}

impl Steps {
    /// Writes `left` in an old store that has lost it. `None` if it has not.
    pub(super) async fn restore(&self, status: &Status) -> Result<Option<Migration>> {
        let old = status.old.as_ref();
        let Some(new) = status
            .new
            .as_ref()
            .filter(|new| is_lost_after_switch(old, new))
        else {
            return Ok(None);
        };
        if new.other != self.old_url {
            return Err(self.other_origin(new));
        }
        if new.token_base != self.new.token_base {
            let refusal = other_base(self.new.token_base, new.token_base);
            return Err(self.new.in_context(refusal));
        }
        // Both were not read in one moment: locks that move back change the new store first.
        if self.new.migration().await?.as_ref() != Some(new) {
            return Err(self.new.in_context(changed()));
        }
        let left = self.record(
            MigrationStage::Left,
            new.id,
            &self.new_url,
            self.old.token_base,
        );
        self.old.advance(old, &left).await?;
        Ok(Some(left))
    }

    /// Cancels in the new store alone, if the old one has lost its record before the switch; whether it has.
    pub(super) async fn cancel_lost(&self, status: &Status) -> Result<bool> {
        let old = status.old.as_ref();
        let new = status.new.as_ref().filter(|new| is_lost(old, new));
        let Some(new) = new.filter(|new| new.stage == MigrationStage::Arriving) else {
            return Ok(false);
        };
        if new.other != self.old_url {
            return Err(self.other_origin(new));
        }
        let cancelled = self.record(
            MigrationStage::Cancelled,
            new.id,
            &self.old_url,
            new.own_base,
        );
        self.new.advance(Some(new), &cancelled).await?;
        Ok(true)
    }
}
