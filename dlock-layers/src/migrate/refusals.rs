//! Steps that are refused, and the steps to take instead.

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{Migration, MigrationStage},
};

use super::{
    base::token_base,
    restore::{is_lost, is_lost_after_switch},
    status::{Status, since},
    steps::Steps,
    stores::{Store, other_base},
};

fn invalid(why: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, why)
}

/// The record in a few words.
fn words(record: Option<&Migration>) -> String {
    record.map_or_else(
        || "none".to_owned(),
        |record| format!("{} since {}", record.stage, since(record)),
    )
}

/// Whether the locks move in the other direction.
pub(super) fn is_swapped(old: &Migration, new: &Migration) -> bool {
    use MigrationStage::{Arrived, Arriving, Closed, Leaving, Left};
    old.id == new.id
        && matches!(old.stage, Arriving | Arrived)
        && matches!(new.stage, Leaving | Closed | Left)
}

impl Steps {
    /// Refuses a `token_base` below the tokens that the old store may still give, before any change.
    pub(super) fn check_base(&self) -> Result<()> {
        let (base, old) = (self.new.token_base, &self.old);
        match token_base(old.name(), old.token_base) {
            Some(least) if base < least => Err(invalid(format!(
                "{} has token_base={base}, needed is {least}: all tokens of {} are smaller",
                self.new_url, self.old_url
            ))),
            None if token_base(old.name(), 0).is_some() => Err(invalid(format!(
                "no token_base= is large enough for a move from {}, which has token_base={}; its programs have to be \
                 stopped for a move",
                self.old_url, old.token_base
            ))),
            // The tokens of a store that is not dlock's are compared at each grant.
            _ => Ok(()),
        }
    }

    /// Refuses another `token_base` of a store than the migration was begun with; `old` is the record of the old store.
    pub(super) fn check_same_bases(&self, old: &Migration) -> Result<()> {
        for (store, begun_with) in [(&self.old, old.own_base), (&self.new, old.token_base)] {
            if store.token_base != begun_with {
                return Err(store.in_context(other_base(store.token_base, begun_with)));
            }
        }
        Ok(())
    }

    /// Refuses the two stores of one migration in the wrong order.
    pub(super) fn check_order(&self, status: &Status) -> Result<()> {
        let (Some(old), Some(new)) = (&status.old, &status.new) else {
            return Ok(());
        };
        if !is_swapped(old, new) {
            return Ok(());
        }
        Err(invalid(format!(
            "the URLs are swapped: the locks move from {} to {}; give them in that order",
            self.new_url, self.old_url
        )))
    }

    /// The refusal of a step without a migration.
    pub(super) fn none(&self, status: &Status) -> Error {
        let Status { old, new } = status;
        let is_lost = new
            .as_ref()
            .is_some_and(|new| new.other == self.old_url && is_lost(old.as_ref(), new));
        let next = match is_lost {
            true => "the first store has lost its record; run \"dlock migrate cancel\"",
            false => "run \"dlock migrate start\"",
        };
        let found = match (old, new) {
            (None, None) => String::new(),
            (old, new) => format!(
                " (the record of the first store is {}, that of the second one {})",
                words(old.as_ref()),
                words(new.as_ref())
            ),
        };
        invalid(format!(
            "no migration from {} to {} was begun{found}; {next}",
            self.old_url, self.new_url
        ))
    }

    /// The refusal to cancel where the old store has no record of the migration.
    pub(super) fn no_cancel(&self, status: &Status) -> Error {
        let new = status.new.as_ref();
        match new.filter(|new| is_lost_after_switch(status.old.as_ref(), new)) {
            Some(new) if new.other == self.old_url => self.done(),
            _ => self.none(status),
        }
    }

    /// The refusal to cancel after the switch.
    pub(super) fn done(&self) -> Error {
        invalid(format!(
            "the switch is done: the locks of {} count; to go back, start a migration from there to {}",
            self.new_url, self.old_url
        ))
    }

    pub(super) fn cancelled(&self) -> Error {
        invalid(format!(
            "this migration is cancelled: all programs need {}; to begin another one, run \"dlock migrate start\"",
            self.old_url
        ))
    }

    /// The refusal of another old store than the one that the locks came from.
    pub(super) fn other_origin(&self, new: &Migration) -> Error {
        let why = format!(
            "the locks of this store come from {}, and {} is given: give the first one as OLD",
            new.other, self.old_url
        );
        self.new.in_context(invalid(why))
    }

    /// The refusal of a migration with `store`, whose record is `found`; `beside` is that of the other one.
    pub(super) fn not_startable(
        &self,
        store: &Store,
        found: &Migration,
        beside: Option<&Migration>,
    ) -> Error {
        use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
        let is_of_this = found.other == self.old_url || found.other == self.new_url;
        let next = match found.stage {
            Arrived if found.other == self.old_url && is_lost(beside, found) => {
                "the first store has lost its record of it; run \"dlock migrate switch\", once more"
                    .to_owned()
            }
            Arrived => {
                "its locks count; move them from there, or choose another prefix=".to_owned()
            }
            Left => format!("its locks have moved to {}", found.other),
            Arriving if found.other == self.old_url && is_lost(beside, found) => {
                "the first store has lost its record of it; run \"dlock migrate cancel\" first"
                    .to_owned()
            }
            Leaving | Closed | Arriving if is_of_this => {
                "run \"dlock migrate status\"; \"switch\" or \"cancel\" ends it".to_owned()
            }
            Cancelled => "run \"dlock migrate status\"".to_owned(),
            _ => "end it first, by \"dlock migrate switch\" or \"cancel\" with its two URLs"
                .to_owned(),
        };
        let why = format!(
            "this store is in a migration already: {} since {} by {}, with {}; {next}",
            found.stage,
            since(found),
            found.by,
            found.other
        );
        store.in_context(invalid(why))
    }
}
