//! The tables: names, statements that create them, and the version of their layout.

use dlock_core::backend::LayoutVersion;

/// The version of the tables. A change that older programs would not understand raises it; a further
/// column with a default, or a further row, does not.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(2).per("database");

/// The layout of tables that were created before they had a version.
pub(crate) const LAYOUT_UNVERSIONED: &str = "0";

/// One row for each name: the row that is locked. It never changes, so old rows can be deleted at any time.
pub(crate) const LOCKS: &str = "dlock_locks";

/// Row 1: the server start that counts tokens and its base; the start that counts next, after its restart
/// guard; the longest ttl in use. Row 2: the counter of `token=committed`. Row 3, if there is one: a migration was begun
/// in the database.
pub(crate) const EPOCH: &str = "dlock_epoch";

/// The questions for the holder of a name, and their answers; empty unless an inspection is in progress.
pub(crate) const ASKED: &str = "dlock_asked";

/// One row for each prefix whose locks are in a migration, or were: its record. A database of an earlier release gets
/// this table with the first migration.
pub(crate) const MIGRATIONS: &str = "dlock_migrations";

/// The longest record, in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 2_048;

/// The statement that creates the table of migrations. Each change of a row counts `changes` up: a statement that writes
/// the same record again is a write, too, and as durable.
pub(crate) const CREATE_MIGRATIONS: &str = "CREATE TABLE IF NOT EXISTS dlock_migrations (\n  prefix \
     VARBINARY(128) NOT NULL PRIMARY KEY,\n  record VARBINARY(2048) NOT NULL,\n  changes BIGINT UNSIGNED NOT NULL \
     DEFAULT 1\n) ENGINE=InnoDB";

/// The statements that create the tables, in order. Each can be repeated.
pub(crate) const CREATE: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS dlock_locks (\n  name VARBINARY(383) NOT NULL PRIMARY KEY\n) \
     ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS dlock_epoch (\n  id TINYINT NOT NULL PRIMARY KEY,\n  epoch BIGINT \
     UNSIGNED NOT NULL,\n  boot BIGINT UNSIGNED NOT NULL,\n  base BIGINT UNSIGNED NOT NULL,\n  \
     next_boot BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  guarded_since BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  \
     ttl_max INT UNSIGNED NOT NULL DEFAULT 0,\n  ttl_max_before INT UNSIGNED NOT NULL DEFAULT 0,\n  \
     period BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  layout INT UNSIGNED NOT NULL\n) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS dlock_asked (\n  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n  \
     name VARBINARY(383) NOT NULL,\n  since TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,\n  holder \
     VARBINARY(1024) NOT NULL DEFAULT ''\n) ENGINE=InnoDB",
    CREATE_MIGRATIONS,
    "INSERT IGNORE INTO dlock_epoch (id, epoch, boot, base, layout) VALUES (1, 0, 0, 0, 2), (2, 0, 0, \
     0, 2)",
];

/// The statements that make the tables, for administrators who run them by hand. Each can be repeated.
pub fn setup_statements() -> impl Iterator<Item = &'static str> {
    CREATE.into_iter()
}
