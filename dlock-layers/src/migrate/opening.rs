//! The records at the opening of both stores: those of one migration, in this direction.

use dlock_core::{
    AttemptId, Error, ErrorKind, Result,
    backend::{Migration, MigrationStage},
};

use super::{
    refusals::is_swapped,
    restore::is_lost,
    stores::{Store, other_base},
};

/// Checks both records: the identity of the migration, and whether the new store counts.
pub(super) async fn check(old: &Store, new: &Store) -> Result<(AttemptId, bool)> {
    old.check_tokens()?;
    new.check_tokens()?;
    let (leaving, arriving) = tokio::try_join!(old.migration(), new.migration())?;
    let refuse = |(side, why): (Side, String)| {
        let store = match side {
            Side::From => old,
            Side::To => new,
        };
        store.in_context(Error::new(ErrorKind::InvalidConfig, why))
    };
    let arriving = pair(leaving.as_ref(), arriving.as_ref()).map_err(refuse)?;
    if arriving.token_base != new.token_base {
        return Err(new.in_context(other_base(new.token_base, arriving)));
    }
    Ok((arriving.id, arriving.stage == MigrationStage::Arrived))
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
) -> Result<&'a Migration, (Side, String)> {
    use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
    let of_one = old.zip(new).is_some_and(|(old, new)| old.id == new.id);
    let stages = (old.map(|old| old.stage), new.map(|new| new.stage));
    if let (true, Some(new)) = (of_one, new)
        && matches!(
            stages,
            (Some(Leaving | Closed), Some(Arriving))
                | (Some(Leaving | Closed | Left), Some(Arrived))
        )
    {
        return Ok(new);
    }
    Err(match (old, new) {
        (Some(old), Some(new)) if is_swapped(old, new) => {
            let why = "from= and to= are swapped: the locks move from to= to from=";
            (Side::From, why.to_owned())
        }
        (old, Some(new)) if new.stage == Arriving && is_lost(old, new) => {
            let why = format!(
                "this store has lost its record of the migration, which to= has, from {}; run \"dlock migrate cancel FROM \
                 TO\", and begin it again",
                new.other
            );
            (Side::From, why)
        }
        (old, Some(new)) if is_lost(old, new) => {
            let why = format!(
                "this store has lost the record that its locks have moved, as to= says, which they came to from {}; run \
                 \"dlock migrate switch FROM TO\" again",
                new.other
            );
            (Side::From, why)
        }
        _ => match stages {
            (Some(Left), Some(Arriving)) if of_one => {
                let why = "this store has lost the record that its locks count; run \"dlock migrate switch FROM TO\" again";
                (Side::To, why.to_owned())
            }
            (Some(Closed | Left), None) => {
                let why = "this store has lost its record of the migration; run \"dlock migrate switch FROM TO\" again";
                (Side::To, why.to_owned())
            }
            (Some(Leaving), None) => {
                let why = "this store has no record of the migration, whose start was cut off; run \"dlock migrate start \
                           FROM TO\" again";
                (Side::To, why.to_owned())
            }
            (Some(Leaving | Closed), Some(Cancelled))
            | (Some(Cancelled), Some(Cancelled | Arriving))
                if of_one =>
            {
                let why = "the migration was cancelled: use the URL in from= alone";
                (Side::From, why.to_owned())
            }
            (None | Some(Cancelled), _) => {
                let why = "no migration from this store was begun; use the URL in from= alone, or run \"dlock migrate \
                           start FROM TO\"";
                (Side::From, why.to_owned())
            }
            _ => {
                let words = |record: Option<&Migration>| {
                    record.map_or_else(
                        || "none".to_owned(),
                        |record| format!("{} ({})", record.id, record.stage),
                    )
                };
                let why = format!(
                    "from= is in the migration {}, and to= in {}: they are not the two stores of one migration; run \
                     \"dlock migrate status FROM TO\"",
                    words(old),
                    words(new)
                );
                (Side::From, why)
            }
        },
    })
}
