//! Locks in the new store before a migration begins: there must be none.
//!
//! A program that uses the new store alone loses its locks as soon as the migration begins. So locks there are a mistake,
//! most likely of the order of both URLs.

use std::time::Duration;

use dlock::{
    Error, ErrorKind, Result,
    config::{Config, Settings},
    layers::migrate::{MigrationStage, Status},
};
use dlock_raw::residue::{InUse, Residue};
use tokio::time::timeout;

use crate::base::{exit::Failure, output::say};

/// How long the search for locks may take.
const LIST_MAX: Duration = Duration::from_secs(20);

/// The error names so many of them.
const NAMED_MAX: usize = 3;

/// Refuses a new store with locks that are held or waited for. If they cannot be listed, a warning says so.
pub(super) async fn refuse(config: &Config, status: &Status) -> Result<(), Failure> {
    use MigrationStage::{Arrived, Arriving, Left};
    let stage = status.new.as_ref().map(|new| new.stage);
    // The migration was begun, or is refused for another reason.
    if matches!(stage, Some(Arriving | Arrived)) {
        return Ok(());
    }
    let Some(new) = Settings::of(config)?.take_store("to")? else {
        return Ok(());
    };
    let places = match list(&new).await {
        Ok(locks) => locks.into_iter().map(|lock| lock.place).collect::<Vec<_>>(),
        Err(error) => {
            say(&format!(
                "it is not known whether programs use locks in {new}, as these cannot be listed ({error}); if one does, \
                 it loses them now: \"dlock migrate cancel\" undoes this step"
            ));
            return Ok(());
        }
    };
    let [first, ..] = places.as_slice() else {
        return Ok(());
    };
    let more = match places.len() {
        1 => String::new(),
        NAMED_MAX.. => " and others".to_owned(),
        count => format!(" and {} more", count - 1),
    };
    let way_out = match stage {
        Some(Left) => {
            "first all programs need the URL that they have since the last move, and none migrate: of that move; or are \
             OLD and NEW swapped?"
        }
        _ => {
            "are OLD and NEW swapped? Else programs use this prefix= already: stop them, or choose another one in NEW"
        }
    };
    Err(Failure::usage(format!(
        "locks in {new} are held or waited for, and would be lost: {first}{more}; {way_out}"
    )))
}

async fn list(new: &Config) -> Result<Vec<InUse>> {
    let listing = async {
        let residue = Residue::open(new).await?;
        let locks = residue.in_use(NAMED_MAX).await;
        residue.close().await;
        locks
    };
    timeout(LIST_MAX, listing).await.unwrap_or_else(|_| {
        let why = format!("there are too many to list within {LIST_MAX:?}");
        Err(Error::new(ErrorKind::Unavailable, why))
    })
}
