//! Errors about tables that another client's statement locks.

use dlock_core::{Error, ErrorKind};

use crate::errors::classify::is_contended;

/// The error of a statement that works with the tables, but not with the row of a lock. Contention is about a
/// table that another statement locks, or a row of it.
pub(crate) fn of_table_statement(error: Error) -> Error {
    if !is_contended(&error) {
        return error;
    }
    let why = format!("dlock waits in the server behind {LOCKS_A_TABLE}, or {LOCKS_ALL_TABLES}");
    Error::new(ErrorKind::Unavailable, why).with_source(error)
}

/// Statements that lock tables.
const LOCKS_A_TABLE: &str =
    "ALTER TABLE, LOCK TABLES or another statement that keeps a table of dlock to itself";
const LOCKS_ALL_TABLES: &str = "FLUSH TABLES WITH READ LOCK, as a backup runs it";

/// States of a session that waits for a table lock, and the statements that have it.
const TABLE_LOCK_STATES: [(&str, &str); 6] = [
    ("Waiting for table metadata lock", LOCKS_A_TABLE),
    ("Waiting for schema metadata lock", "ALTER DATABASE"),
    ("Waiting for table flush", "FLUSH TABLES"),
    ("Waiting for global read lock", LOCKS_ALL_TABLES),
    ("Waiting for commit lock", LOCKS_ALL_TABLES),
    (
        "Waiting for backup lock",
        "FLUSH TABLES WITH READ LOCK or BACKUP STAGE, as a backup runs them",
    ),
];

/// The table lock that a session in `state` waits for, if it does.
pub(crate) fn table_lock(state: &str) -> Option<Error> {
    let (_, statement) = TABLE_LOCK_STATES.iter().find(|(of, _)| *of == state)?;
    Some(blocked_by(statement))
}

/// A table lock of an unknown statement.
pub(crate) fn unknown_table_lock() -> Error {
    blocked_by("a statement that keeps a table of dlock to itself")
}

fn blocked_by(statement: &str) -> Error {
    let why = format!("new grants wait in the server behind {statement}");
    Error::new(ErrorKind::Unavailable, why)
}

/// Whether a table, or a row other than a lock's, is locked; also of an error of [`of_table_statement`].
pub(crate) fn is_table_locked(error: &Error) -> bool {
    let source = error
        .get_ref()
        .and_then(|source| source.downcast_ref::<Error>());
    is_contended(error) || source.is_some_and(is_contended)
}
