//! The records at the opening of both stores: those of one migration, in this direction.

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{Migration, MigrationStage},
};

use super::{
    old_counts::OldCounts,
    refusals::is_swapped,
    restore::{is_lost, is_lost_after_switch},
    stores::{Store, other_base},
    switch::Switch,
};

/// Checks both records. They show which store counts.
pub(super) async fn open(old: &Store, new: &Store) -> Result<Switch> {
    old.check_tokens()?;
    new.check_tokens()?;
    let sent = new.backend.clock().now();
    let (leaving, arriving) = tokio::try_join!(old.migration(), new.migration())?;
    // An empty old store that does not count any more is passed over, as one that cannot be reached.
    let is_passed_over = arriving
        .as_ref()
        .is_some_and(|new| is_lost_after_switch(leaving.as_ref(), new));
    let refuse = |(side, why): (Side, String)| {
        let store = match side {
            Side::From => old,
            Side::To => new,
        };
        let kind = match is_passed_over {
            true => ErrorKind::Unavailable,
            false => ErrorKind::InvalidConfig,
        };
        store.in_context(Error::new(kind, why))
    };
    let arriving = pair(leaving.as_ref(), arriving.as_ref(), new.token_base).map_err(refuse)?;
    if arriving.token_base != new.token_base {
        return Err(new.in_context(other_base(new.token_base, arriving.token_base)));
    }
    if let Some(leaving) = leaving
        .as_ref()
        .filter(|leaving| leaving.own_base != old.token_base)
    {
        return Err(old.in_context(other_base(old.token_base, leaving.own_base)));
    }
    let old_counts = OldCounts::new(old.clone(), new.clone(), arriving.id);
    old_counts.found(leaving.as_ref(), Some(arriving), sent);
    let is_done = arriving.stage == MigrationStage::Arrived;
    Ok(Switch::new(new.clone(), arriving.id, is_done, old_counts))
}

/// The store whose record is wrong.
enum Side {
    From,
    To,
}

/// The record of the new store, if both are those of one migration; else the reason and the step to take.
fn pair<'a>(
    old: Option<&Migration>,
    new: Option<&'a Migration>,
    new_base: u64,
) -> Result<&'a Migration, (Side, String)> {
    use MigrationStage::{Arrived, Arriving, Closed, Leaving, Left};
    if let (Some(old), Some(new)) = (old, new)
        && old.id == new.id
        && matches!(
            (old.stage, new.stage),
            (Leaving | Closed, Arriving) | (Leaving | Closed | Left, Arrived)
        )
    {
        return Ok(new);
    }
    Err(lost(old, new).unwrap_or_else(|| other(old, new, new_base)))
}

/// The step to take if one of the stores has lost its record, or the last change of it.
fn lost(old: Option<&Migration>, new: Option<&Migration>) -> Option<(Side, String)> {
    use MigrationStage::{Arriving, Closed, Leaving, Left};
    const SWITCH: &str = "run \"dlock migrate switch FROM TO\" again";
    if let Some(new) = new.filter(|new| is_lost(old, new)) {
        let (this, next) = match new.stage {
            Arriving => (
                "its record of the migration",
                "run \"dlock migrate cancel FROM TO\", and begin it again",
            ),
            _ => ("the record that its locks have moved", SWITCH),
        };
        let why = format!(
            "this store has lost {this}, if the locks of to= come from it, as they come from {}; {next}",
            new.other
        );
        return Some((Side::From, why));
    }
    let old = old?;
    let why = match (old.stage, new) {
        (Left, Some(new)) if new.stage == Arriving && new.id == old.id => {
            format!("this store has lost the record that its locks count; {SWITCH}")
        }
        (Closed | Left, None) => {
            format!(
                "this store has no record of the migration to {}: it has lost it, or its URL has another prefix=; {SWITCH}, \
                 or correct to=",
                old.other
            )
        }
        (Leaving, None) => format!(
            "this store has no record of the migration to {}: its start was cut off, or its URL has another prefix=; run \
             \"dlock migrate start FROM TO\" again, or correct to=",
            old.other
        ),
        _ => return None,
    };
    Some((Side::To, why))
}

/// The step to take where no record is lost.
fn other(old: Option<&Migration>, new: Option<&Migration>, new_base: u64) -> (Side, String) {
    use MigrationStage::{Arriving, Cancelled, Closed, Leaving};
    let why = match (old, new) {
        (Some(old), Some(new)) if is_swapped(old, new) => {
            "from= and to= are swapped: the locks move from to= to from=; exchange them".to_owned()
        }
        (Some(old), Some(new))
            if old.id == new.id
                && matches!(
                    (old.stage, new.stage),
                    (Leaving | Closed | Cancelled, Cancelled) | (Cancelled, Arriving)
                ) =>
        {
            // With another base it may be a move back that was cancelled: then the locks are in to=.
            match new.token_base == new_base {
                true => "the migration was cancelled: use the URL in from= alone",
                false => {
                    "another migration of these stores was cancelled: run \"dlock migrate status FROM TO\", and use the store \
                     whose locks counted before it"
                }
            }
            .to_owned()
        }
        (old, new) if [old, new].into_iter().all(is_none_or_cancelled) => {
            "no migration from this store was begun; use the URL in from= alone, or run \"dlock migrate start FROM TO\""
                .to_owned()
        }
        _ => format!(
            "from= is in the migration {}, and to= in {}: they are not the two stores of one migration; run \"dlock migrate \
             status FROM TO\"",
            words(old),
            words(new)
        ),
    };
    (Side::From, why)
}

fn is_none_or_cancelled(record: Option<&Migration>) -> bool {
    record.is_none_or(|record| record.stage == MigrationStage::Cancelled)
}

fn words(record: Option<&Migration>) -> String {
    record.map_or_else(
        || "none".to_owned(),
        |record| format!("{} ({})", record.id, record.stage),
    )
}
