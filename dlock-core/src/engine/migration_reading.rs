//! A reading of the record of a migration, and its meaning for a locker that uses its store alone (K1).

use crate::{
    backend::{
        distributed_lock::DistributedLock,
        migration::{Migration, MigrationStage},
    },
    base::{
        clock::BootInstant,
        error::{Error, Result},
    },
};

/// A reading that was answered: its record, and when it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) sent: BootInstant,
    pub(crate) record: Option<String>,
}

/// The meaning of a record for a locker that uses its store alone.
pub(super) enum Meaning {
    Open,
    /// A migration from this store has begun.
    Leaving,
    /// The locks are about to move: no more grants, and holds count for as long as after the last open reading.
    Closed(Error),
    /// The locks are elsewhere.
    Refused(Error),
}

impl Meaning {
    /// The meaning of `record` for a locker with this `token_base`.
    pub(super) fn of(record: Option<&str>, token_base: u64) -> Self {
        let Some(record) = record else {
            return Self::Open;
        };
        let migration = match record.parse::<Migration>() {
            Ok(migration) => migration,
            Err(error) => return Self::Refused(error),
        };
        match migration.check_alone(token_base) {
            Err(error) if migration.stage == MigrationStage::Closed => Self::Closed(error),
            Err(error) => Self::Refused(error),
            Ok(()) if migration.stage == MigrationStage::Leaving => Self::Leaving,
            Ok(()) => Self::Open,
        }
    }
}

/// Reads the record, if the store can keep one.
pub(super) async fn read(backend: &dyn DistributedLock) -> Result<Option<String>> {
    match backend.migration_record() {
        Some(record) => record.read().await,
        None => Ok(None),
    }
}
