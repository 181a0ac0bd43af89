//! The record of a next move, by which core refuses a program that is left on this one (K1).

use async_trait::async_trait;
use dlock_core::{
    AttemptId, Error, ErrorKind, Result,
    backend::{Migration, MigrationRecord, MigrationStage},
};

use super::stores::Store;

/// The record of the new store, as core reads that of a store which a program uses alone. `None` as long as no other
/// migration than this one has begun there.
pub(super) struct NextMove {
    new: Store,
    id: AttemptId,
}

impl NextMove {
    pub(super) fn new(new: Store, id: AttemptId) -> Self {
        Self { new, id }
    }
}

#[async_trait]
impl MigrationRecord for NextMove {
    async fn read(&self) -> Result<Option<String>> {
        use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving};
        let Some(text) = self.new.record()?.read().await? else {
            return Ok(None);
        };
        // Core refuses what it cannot read.
        let Ok(mut found) = text.parse::<Migration>() else {
            return Ok(Some(text));
        };
        Ok(match found.stage {
            Arriving | Arrived if found.id == self.id => None,
            Cancelled => None,
            // In a move back, programs take the locks of both stores in the other order: waits for each other would
            // not end.
            Leaving => {
                found.stage = Closed;
                Some(found.to_string())
            }
            _ => Some(text),
        })
    }

    async fn compare_and_set(&self, _: Option<&str>, _: &str) -> Result<bool> {
        let why = "a migration keeps no record of its own, so its locks cannot move: end it first";
        Err(Error::new(ErrorKind::Unsupported, why))
    }
}
