//! An old store that has lost its record after the switch: `switch`, once more, writes it again.
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

/// Whether the old store has lost the record of the migration that has made the new store count.
///
/// While the new store says so, the old one keeps the record of that migration: no step takes it away.
pub(super) fn is_lost(old: Option<&Migration>, new: &Migration) -> bool {
    use MigrationStage::{Arrived, Cancelled};
    // An earlier one may have come back, as from a copy of the data.
    let is_of_earlier =
        |old: &Migration| old.id != new.id && matches!(old.stage, Cancelled | Arrived);
    new.stage == Arrived && old.is_none_or(is_of_earlier)
}

impl Steps {
    /// Writes `left` in an old store that has lost it. `None` if it has not.
    pub(super) async fn restore(&self, status: &Status) -> Result<Option<Migration>> {
        let old = status.old.as_ref();
        let Some(new) = status.new.as_ref().filter(|new| is_lost(old, new)) else {
            return Ok(None);
        };
        if new.other != self.old_url {
            return Err(self.other_origin(new));
        }
        if new.token_base != self.new.token_base {
            let refusal = other_base(self.new.token_base, new);
            return Err(self.new.in_context(refusal));
        }
        // Both were not read in one moment: locks that move back change the new store first.
        if self.new.migration().await?.as_ref() != Some(new) {
            return Err(self.new.in_context(changed()));
        }
        let left = self.record(MigrationStage::Left, new.id, &self.new_url);
        self.old.advance(old, &left).await?;
        Ok(Some(left))
    }
}
