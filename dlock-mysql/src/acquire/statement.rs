//! The statement that locks a row, and its reply.

use dlock_core::{Result, backend::SentAt};

use crate::{
    config::TokenSource,
    conn::pool::{ROW_WAIT_MAX, set_wait_timeout},
    epoch::row::{self, Epoch},
    keys,
    sql::{
        row::{Row, number},
        server::Product,
        tables::LOCKS,
    },
};

/// The server's behaviour if the row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// The server refuses: nearly always enough.
    NoWait,
    /// The server skips the row. The second try of a `try`. An inspection of a free row locks it for an instant,
    /// and MariaDB has one error for a locked row and a locked table.
    SkipLocked,
    /// The server waits.
    Wait,
}

/// The statement that locks a row.
pub(crate) struct LockStatement<'a> {
    pub(crate) row: &'a [u8],
    pub(crate) product: Product,
    pub(crate) tokens: TokenSource,
    pub(crate) mode: LockMode,
    /// A `wait_timeout` to set before, in seconds.
    pub(crate) wait_timeout: Option<u64>,
    /// Whether the epoch is read behind the lock, and so after the grant.
    pub(crate) reads_epoch: bool,
}

impl LockStatement<'_> {
    pub(crate) fn render(&self) -> String {
        let row = keys::literal(self.row);
        let mut sql = String::new();
        if let Some(seconds) = self.wait_timeout {
            sql += &format!("SET SESSION {}; ", set_wait_timeout(seconds));
        }
        let serial = match self.tokens {
            TokenSource::Epoch => "UUID_SHORT()",
            TokenSource::Committed => "0",
        };
        let mode = match (self.mode, self.product) {
            (LockMode::SkipLocked, _) => "SKIP LOCKED",
            (LockMode::NoWait, Product::MySql) => "NOWAIT",
            (LockMode::NoWait, Product::MariaDb) | (LockMode::Wait, _) => "",
        };
        if self.product == Product::MariaDb {
            sql += &match self.mode {
                // For the prepared statement, too: see `Product::lock_row`.
                LockMode::NoWait => "SET SESSION innodb_lock_wait_timeout = 0; ".to_owned(),
                // To skip a row is an error where a session does not wait for rows.
                LockMode::SkipLocked | LockMode::Wait => format!(
                    "SET STATEMENT innodb_lock_wait_timeout = {} FOR ",
                    ROW_WAIT_MAX.as_secs()
                ),
            };
        }
        sql += &format!("SELECT {serial} FROM {LOCKS} WHERE name = {row} FOR UPDATE {mode}");
        if self.reads_epoch && self.tokens == TokenSource::Epoch {
            sql += &format!("; {}", row::select());
        }
        if self.mode == LockMode::SkipLocked {
            sql += &format!("; SELECT 0, 0 FROM {LOCKS} WHERE name = {row}");
        }
        sql
    }
}

/// The result of a statement that does not wait.
pub(crate) enum RowResult {
    Locked(LockedRow),
    Contended,
    /// The row does not exist.
    Missing,
}

impl RowResult {
    /// The reply to a [`LockStatement`] that was sent at `sent`.
    pub(crate) fn read(rows: &[Row], sent: SentAt) -> Result<Self> {
        Ok(match LockedRow::read(rows, sent)? {
            Some(locked) => Self::Locked(locked),
            None if rows.iter().any(|row| row.len() == 2) => Self::Contended,
            None => Self::Missing,
        })
    }
}

/// The reply of a row that is locked now.
pub(crate) struct LockedRow {
    /// The server's serial number of the grant.
    pub(crate) serial: u64,
    /// The epoch, if the statement reads it.
    pub(crate) epoch: Option<Epoch>,
}

impl LockedRow {
    /// The reply to a [`LockStatement`] that was sent at `sent`; `None` if there is no such row.
    pub(crate) fn read(rows: &[Row], sent: SentAt) -> Result<Option<Self>> {
        let Some(locked) = rows.iter().find(|row| row.len() == 1) else {
            return Ok(None);
        };
        let epoch = Epoch::find(rows, sent.instant())?;
        Ok(Some(Self {
            serial: number(locked, 0)?,
            epoch,
        }))
    }
}
