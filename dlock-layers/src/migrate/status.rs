//! The records of both stores, as an operator reads them.

use std::time::{Duration, SystemTime};

use dlock_core::{Result, backend::Migration};

/// Both records of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The record in the old store.
    pub old: Option<Migration>,
    /// The record in the new store.
    pub new: Option<Migration>,
}

/// Both records, as far as the stores answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Records {
    /// The record in the old store, or why it cannot be read.
    pub old: Result<Option<Migration>>,
    /// The record in the new store, or why it cannot be read.
    pub new: Result<Option<Migration>>,
}

/// The time of `record`, to the second and in UTC.
///
/// ```
/// use dlock_core::backend::Migration;
/// use dlock_layers::migrate::since;
///
/// let id = "000000000000000000000000000000a1";
/// let record: Migration = format!("left {id} 1780000000000000 1@a etcd://etcd-1 7 0").parse()?;
/// assert_eq!(since(&record), "2026-05-28T20:26:40Z");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[must_use]
pub fn since(record: &Migration) -> String {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(record.since_unix_micros));
    at.map_or_else(
        || "an unknown time".to_owned(),
        |at| humantime::format_rfc3339_seconds(at).to_string(),
    )
}
