//! Cases of the record of a migration that are the same in every store.
//!
//! Each runs on a prefix of its own, as it writes records there. So they are no part of the conformance suite, which
//! users run on the prefix of their locks.

use dlock_core::{
    AttemptId, Effect, Error, ErrorKind, Result,
    backend::{DistributedLock, Migration, MigrationRecord, MigrationStage},
};

use crate::{
    ensure,
    support::{Outcome, refused},
};

/// Prefixes that have records of their own. A store that compared texts would take some of them for the same.
pub const PREFIXES: [&str; 6] = ["", "app", "App", "app ", "\u{e4}pp", "a\u{308}pp"];

/// The record of `backend`.
///
/// # Errors
///
/// When it cannot keep one.
pub fn of(backend: &impl DistributedLock) -> Outcome<&dyn MigrationRecord> {
    let record = backend.migration_record();
    record.ok_or_else(|| "the store keeps no record of a migration".into())
}

/// The text of a record, as `dlock migrate start` writes it into the old store.
#[must_use]
pub fn text() -> String {
    let migration = Migration {
        stage: MigrationStage::Leaving,
        id: AttemptId::from_u128(7),
        since_unix_micros: 1,
        by: "1@a".to_owned(),
        other: "etcd://etcd-1".to_owned(),
        token_base: 0,
        own_base: 0,
    };
    migration.to_string()
}

/// Changes a record that was never written, by right and by wrong expectations. It is `b` afterwards.
///
/// # Errors
///
/// When it changed though it was not as expected, or did not though it was.
///
/// # Cancel safety
///
/// The record may be written.
pub async fn changes_only_from_what_is_expected(record: &dyn MigrationRecord) -> Outcome {
    for (expected, next, is_set) in [
        (Some("a"), "b", false),
        (Some(""), "b", false),
        (None, "a", true),
        (None, "a", false),
        (Some("A"), "b", false),
        (Some("a "), "b", false),
        // A step that was cut off writes the same record again.
        (Some("a"), "a", true),
        (Some("a"), "b", true),
        (Some("a"), "c", false),
    ] {
        let before = record.read().await?;
        let found = record.compare_and_set(expected, next).await?;
        ensure!(
            found == is_set,
            "{expected:?} to {next:?} of {before:?}: {found}"
        );
        let after = if is_set {
            Some(next.to_owned())
        } else {
            before
        };
        let read = record.read().await?;
        ensure!(
            read == after,
            "{read:?} after {expected:?} to {next:?}, not {after:?}"
        );
    }
    Ok(())
}

/// Counts from nothing, as two clients at the same time, each by that many `changes`.
///
/// # Errors
///
/// When a change was lost, or was made of an old reading.
///
/// # Cancel safety
///
/// The record may be written.
pub async fn no_change_is_lost(
    one: &dyn MigrationRecord,
    two: &dyn MigrationRecord,
    changes: u32,
) -> Outcome {
    let count = async |record: &dyn MigrationRecord| -> Outcome {
        let (mut made, mut last) = (0, 0);
        while made < changes {
            let found = record.read().await?;
            let now: u32 = found.as_deref().unwrap_or("0").parse()?;
            ensure!(now >= last, "{now} was read after {last}");
            last = now;
            if record
                .compare_and_set(found.as_deref(), &(now + 1).to_string())
                .await?
            {
                (made, last) = (made + 1, now + 1);
            }
        }
        Ok(())
    };
    let (counted, counted_too) = tokio::join!(count(one), count(two));
    counted.and(counted_too)?;
    for record in [one, two] {
        let counted = record.read().await?;
        ensure!(
            counted == Some((2 * changes).to_string()),
            "counted {counted:?}"
        );
    }
    Ok(())
}

/// Writes another record into each, and reads all of them.
///
/// # Errors
///
/// When two are the same record.
///
/// # Cancel safety
///
/// Some records may be written.
pub async fn are_records_of_their_own(records: &[&dyn MigrationRecord]) -> Outcome {
    for (number, record) in records.iter().enumerate() {
        let is_set = record.compare_and_set(None, &number.to_string()).await?;
        ensure!(
            is_set,
            "the prefix {number} of {} has a record",
            records.len()
        );
    }
    for (number, record) in records.iter().enumerate() {
        let found = record.read().await?;
        ensure!(
            found == Some(number.to_string()),
            "the prefix {number} has {found:?}"
        );
    }
    Ok(())
}

/// Uses the record of a backend that was closed.
///
/// # Errors
///
/// When it is not refused.
///
/// # Cancel safety
///
/// The record may be written.
pub async fn is_refused_when_closed(record: &dyn MigrationRecord) -> Outcome {
    for answer in [
        record.read().await.map(drop),
        record.compare_and_set(None, "a").await.map(drop),
        record.compare_and_set(Some("a"), "b").await.map(drop),
    ] {
        let error = refused(answer)?;
        ensure!(error.to_string() == Error::closed().to_string(), "{error}");
    }
    Ok(())
}

/// Checks what a change reports whose reply is lost.
///
/// # Errors
///
/// Unless the store is not available, and the effect unknown.
pub fn is_unknown(changed: Result<bool>) -> Outcome {
    let error = refused(changed)?;
    let found = (error.kind(), error.effect());
    ensure!(
        found == (ErrorKind::Unavailable, Effect::Unknown),
        "{error}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use dlock_core::{
        memory::{Fault, Memory, Operation},
        toolkit::Lock,
    };

    use super::*;

    #[tokio::test]
    async fn a_store_that_keeps_its_record_passes() -> Outcome {
        changes_only_from_what_is_expected(of(&Memory::new())?).await?;
        let store = Memory::new();
        no_change_is_lost(of(&store)?, of(&store.clone())?, 20).await?;
        let stores = [Memory::new(), Memory::new()];
        let records = [of(&stores[0])?, of(&stores[1])?];
        are_records_of_their_own(&records).await?;
        stores[0].inject_once(Operation::Migrate, Fault::LoseReply);
        is_unknown(records[0].compare_and_set(Some("0"), "1").await)?;
        stores[0].close().await?;
        is_refused_when_closed(records[0]).await
    }

    /// Writes what it is given, after others had the time to.
    #[derive(Default)]
    struct Careless(Lock<Option<String>>);

    #[async_trait]
    impl MigrationRecord for Careless {
        async fn read(&self) -> Result<Option<String>> {
            Ok(self.0.lock().clone())
        }

        async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
            let is_expected = self.0.lock().as_deref() == expected;
            tokio::task::yield_now().await;
            if is_expected {
                *self.0.lock() = Some(next.to_owned());
            }
            Ok(is_expected)
        }
    }

    #[tokio::test]
    async fn a_store_that_does_not_is_found() {
        let one = Careless::default();
        let failed = no_change_is_lost(&one, &one, 20).await.expect_err("lost");
        assert!(failed.message().is_some());
        let one = Careless::default();
        let failed = are_records_of_their_own(&[&one, &one])
            .await
            .expect_err("same");
        assert!(failed.message().is_some());
        is_refused_when_closed(&one).await.expect_err("not closed");
        is_unknown(Ok(true)).expect_err("known");
    }
}
