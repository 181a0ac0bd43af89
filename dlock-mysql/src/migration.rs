//! The record of a migration: a row of `dlock_migrations`.
//!
//! An account from before that table may have no right to it, and a server then does not say whether the table exists.
//! So the first record of a database comes with a row in `dlock_epoch`, which each account may read. Without that row
//! there is no record that could be missed.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{Effect, Error, ErrorKind, Result, backend::MigrationRecord};

use crate::{
    conn::{control::ControlTurn, pool::Pool},
    errors,
    keys::literal,
    sql::{
        row::{self, is_on, number},
        tables::{CREATE_MIGRATIONS, EPOCH, LAYOUT, MIGRATIONS, RECORD_BYTES_MAX},
    },
};

/// The row of `dlock_epoch` that says that a migration was begun in this database.
const BEGUN: u8 = 3;

/// The record of a migration, by its prefix.
pub(crate) struct MigrationRow {
    pool: Arc<Pool>,
    /// The prefix as a literal.
    prefix: String,
}

impl MigrationRow {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self {
            prefix: literal(pool.config().prefix.as_bytes()),
            pool,
        }
    }
}

#[async_trait]
impl MigrationRecord for MigrationRow {
    async fn read(&self) -> Result<Option<String>> {
        let select = format!(
            "SELECT HEX(record) FROM {MIGRATIONS} WHERE prefix = {}",
            self.prefix
        );
        let read = move |mut turn: ControlTurn| async move { read(&mut turn, &select).await };
        self.pool.tables()?.run(read).await
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        check_length(next)?;
        let (prefix, next) = (&self.prefix, literal(next.as_bytes()));
        let write = match expected {
            None => format!(
                "INSERT IGNORE INTO {EPOCH} (id, epoch, boot, base, layout) VALUES ({BEGUN}, 0, 0, 0, {LAYOUT}); INSERT \
                 IGNORE INTO {MIGRATIONS} (prefix, record) VALUES ({prefix}, {next})"
            ),
            Some(expected) => format!(
                "UPDATE {MIGRATIONS} SET record = {next}, changes = changes + 1 WHERE prefix = {prefix} AND record = {}",
                literal(expected.as_bytes())
            ),
        };
        let is_first = expected.is_none();
        let set = move |mut turn: ControlTurn| async move {
            match write_if_expected(&mut turn, &write).await {
                Err(error) if errors::is_no_table(&error) && is_first => {
                    create(&mut turn).await?;
                    write_if_expected(&mut turn, &write).await
                }
                Err(error) if errors::is_no_table(&error) => Ok(false),
                is_set => is_set,
            }
        };
        self.pool.tables()?.run(set).await
    }
}

async fn read(turn: &mut ControlTurn, select: &str) -> Result<Option<String>> {
    let is_denied = match find(turn, select).await {
        Err(error) if error.kind() == ErrorKind::Denied => true,
        Err(error) if errors::is_no_table(&error) => false,
        found => return found,
    };
    let begun = format!("SELECT '{BEGUN:02x}' FROM {EPOCH} WHERE id = {BEGUN}");
    match find(turn, &begun).await? {
        Some(_) if is_denied => Err(may_not_read()),
        _ => Ok(None),
    }
}

/// The bytes that `select` finds, as hexadecimal digits, on a server that is not a replica.
async fn find(turn: &mut ControlTurn, select: &str) -> Result<Option<String>> {
    let sql = format!("SELECT @@global.read_only, ({select})");
    let rows = turn.query(&sql).await;
    let rows = rows.map_err(errors::of_table_statement)?;
    let row = rows.into_iter().next().unwrap_or_default();
    if is_on(&row, 0)? {
        // The former primary of a switchover: the next reading follows the address.
        turn.disconnect();
        return Err(errors::read_only());
    }
    // A text of other bytes is no record, and never the expected one.
    Ok(row::bytes(&row, 1).map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// Writes in one transaction; whether the last statement of `write` has changed a row.
///
/// One request has the commit, too: a client that vanishes leaves no transaction behind.
async fn write_if_expected(turn: &mut ControlTurn, write: &str) -> Result<bool> {
    // An account that may write to a replica would.
    find(turn, "NULL").await?;
    let sql = format!("START TRANSACTION; {write}; SELECT ROW_COUNT(); COMMIT");
    let changed = turn.query(&sql).await;
    let error = match changed.and_then(|rows| number(&rows.concat(), 0)) {
        Ok(changed) => return Ok(changed > 0),
        Err(error) => error,
    };
    if turn.query("ROLLBACK").await.is_err() {
        turn.disconnect();
    }
    Err(match error.kind() {
        // It may be the error of the commit (K9).
        ErrorKind::Internal => error.with_effect(Effect::Unknown),
        _ => errors::of_table_statement(error),
    })
}

async fn create(turn: &mut ControlTurn) -> Result<()> {
    let created = turn.create(CREATE_MIGRATIONS).await;
    created.map_err(|error| match error.kind() {
        ErrorKind::Denied => {
            let why = format!(
                "the table {MIGRATIONS} is missing, and the account may not make it; an administrator runs what dlock setup \
                 --print shows"
            );
            Error::new(ErrorKind::Denied, why)
        }
        _ => errors::of_table_statement(error).with_effect(Effect::None),
    })
}

/// The server would cut off the rest.
fn check_length(record: &str) -> Result<()> {
    let length = record.len();
    if length <= RECORD_BYTES_MAX {
        return Ok(());
    }
    let why =
        format!("the record of a migration has {length} bytes, allowed are {RECORD_BYTES_MAX}");
    Err(Error::new(ErrorKind::InvalidInput, why))
}

fn may_not_read() -> Error {
    let why = format!(
        "locks of this database are in a migration, or were, and the account may not read the table {MIGRATIONS}; an \
         administrator runs GRANT SELECT on it"
    );
    Error::new(ErrorKind::Denied, why)
}
