//! MySQL: a lock is a row that a session has locked. The row itself is kept.

use std::fmt::Write as _;

use dlock_core::{
    Error, ErrorKind, LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use tokio::sync::Mutex;

use super::left::{Cleared, InUse, Kind, Left, Store};
use crate::driver::mysql::{Connection, Failure, Server};

/// The table does not exist: then nothing is left.
const NO_TABLE: u16 = 1146;

/// The most rows that are visited.
const ROWS_MAX: u32 = 10_000;

/// A connection, whose statements are transactions of their own.
pub(super) struct MySql {
    connection: Mutex<Connection>,
    prefix: String,
}

impl MySql {
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?.unwrap_or_default();
        let connection = Server::take(&mut settings)?.connect().await?;
        let connection = Mutex::new(connection);
        Ok(Self { connection, prefix })
    }

    /// Whether the statement returns a row.
    async fn finds(&self, sql: String) -> Result<bool> {
        Ok(self.count(sql).await? > 0)
    }

    /// How many rows the statement returns.
    async fn count(&self, sql: String) -> Result<u64> {
        match self.connection.lock().await.query(sql).await {
            Ok(rows) => Ok(rows.len() as u64),
            Err(failure) => absent(failure).map(|()| 0),
        }
    }

    /// Deletes the rows with these names, and returns how many there were.
    async fn delete(&self, table: &str, names: &str) -> Result<u64> {
        // A row that is locked is not waited for.
        let sql = format!(
            "DELETE old FROM (SELECT * FROM {table} WHERE name IN ({names}) LIMIT 1000 FOR UPDATE SKIP LOCKED) AS free \
             STRAIGHT_JOIN {table} AS old ON old.name = free.name"
        );
        match self.connection.lock().await.execute(sql).await {
            Ok(removed) => Ok(removed),
            Err(failure) => absent(failure).map(|()| 0),
        }
    }
}

#[async_trait]
impl Store for MySql {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let row = literal(&[&self.prefix, name.as_str()].concat());
        let mut left = Vec::new();
        let locks = format!("SELECT 1 FROM dlock_locks WHERE name = {row}");
        if self.finds(locks.clone()).await? {
            let is_free = self
                .finds(format!("{locks} FOR UPDATE SKIP LOCKED"))
                .await?;
            let kind = if is_free { Kind::Kept } else { Kind::Lock };
            left.push(Left::new(name, format!("dlock_locks {row}"), kind));
        }
        if self
            .finds(format!(
                "SELECT 1 FROM dlock_asked WHERE name = {row} LIMIT 1"
            ))
            .await?
        {
            left.push(Left::new(name, format!("dlock_asked {row}"), Kind::Lock));
        }
        Ok(left)
    }

    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        let (length, prefix) = (self.prefix.len(), literal(&self.prefix));
        let names = format!(
            "SELECT HEX(name), CONVERT(name USING utf8mb4) FROM dlock_locks WHERE LEFT(name, {length}) = {prefix} LIMIT {ROWS_MAX}"
        );
        let rows = match self.connection.lock().await.query(names).await {
            Ok(rows) => rows,
            Err(failure) => absent(failure).map(|()| Vec::new())?,
        };
        let is_cut = rows.len() >= ROWS_MAX as usize;
        let mut places = Vec::new();
        for row in rows {
            let [Some(name), shown] = row.as_slice() else {
                continue;
            };
            // One after the other: each is locked for the moment of one statement.
            let lock =
                format!("SELECT 1 FROM dlock_locks WHERE name = x'{name}' FOR UPDATE SKIP LOCKED");
            if !self.finds(lock).await? {
                let shown = shown.as_deref().unwrap_or(name);
                let name = shown.strip_prefix(&self.prefix).unwrap_or_default();
                places.push(InUse::new(format!("dlock_locks {shown}"), name));
                if places.len() == max {
                    break;
                }
            }
        }
        if is_cut && places.is_empty() {
            let why = format!("there are more than {ROWS_MAX} names to list");
            return Err(Error::new(ErrorKind::Unavailable, why));
        }
        Ok(places)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        let (table, row) = left.place.split_once(' ').unwrap_or_default();
        Ok(self.delete(table, row).await? > 0)
    }

    async fn clear(&self, names: &[LockName]) -> Result<Cleared> {
        if names.is_empty() {
            return Ok(Cleared::default());
        }
        let rows = names
            .iter()
            .map(|name| literal(&[&self.prefix, name.as_str()].concat()));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let kept = self.delete("dlock_locks", &rows).await?;
        let inspected = self.delete("dlock_asked", &rows).await?;
        // Those that are locked.
        let stays = self
            .count(format!("SELECT 1 FROM dlock_locks WHERE name IN ({rows})"))
            .await?;
        Ok(Cleared {
            removed: kept + inspected,
            stays,
            locks: inspected + stays,
        })
    }
}

/// A table that is not there has no rows.
fn absent(failure: Failure) -> Result<()> {
    match failure.number() {
        Some(NO_TABLE) => Ok(()),
        _ => Err(failure.into()),
    }
}

/// The name as a hexadecimal literal: no part of it is SQL.
fn literal(name: &str) -> String {
    let mut literal = "x'".to_owned();
    for byte in name.bytes() {
        // Writing to a string does not fail.
        let _ = write!(literal, "{byte:02x}");
    }
    literal + "'"
}
