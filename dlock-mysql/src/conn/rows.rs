//! The rows of names that are used for the first time.
//!
//! Each insert is a commit, and a write to disk. So while one is under way, the rows of further names gather, and the
//! next statement inserts them all.

use std::sync::Arc;

use dlock_core::{ErrorKind, Result, toolkit::Lock};
use tokio::sync::oneshot;

use crate::{
    conn::control::{Control, ControlTurn},
    errors,
    sql::{server::ServerStart, tables::LOCKS},
};

/// The most rows in a statement.
const ROWS_MAX: usize = 100;

/// Inserts rows.
pub(crate) struct RowInserter {
    tables: Arc<Control>,
    pending: Arc<Lock<Vec<Pending>>>,
}

/// A row that is not sent yet.
struct Pending {
    /// The key, as a literal.
    row: String,
    /// The server that lacks it.
    start: ServerStart,
    inserted: oneshot::Sender<Result<()>>,
}

impl RowInserter {
    /// Makes one for the tables of this connection.
    pub(crate) fn new(tables: Arc<Control>) -> Self {
        Self {
            tables,
            pending: Arc::default(),
        }
    }

    /// Inserts the row of a name on `start`, unless it is there. `row` is its key as a literal.
    ///
    /// Another client may have it locked, or delete it, so the caller tries again.
    pub(crate) async fn insert(&self, row: String, start: ServerStart) -> Result<()> {
        let (inserted, mut answer) = oneshot::channel();
        self.pending.lock().push(Pending {
            row,
            start,
            inserted,
        });
        // Each turn sends rows that are pending, if not this one. The turns of others may fail before they send any.
        loop {
            let pending = self.pending.clone();
            let turn = |mut turn: ControlTurn| async move {
                insert_pending(&mut turn, &pending).await;
                Ok(())
            };
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(|_| errors::connection_lost())?,
                turned = self.tables.run(turn) => turned?,
            }
        }
    }
}

async fn insert_pending(turn: &mut ControlTurn, pending: &Lock<Vec<Pending>>) {
    let rows: Vec<_> = {
        let mut pending = pending.lock();
        // A row whose caller is gone is not needed.
        pending.retain(|row| !row.inserted.is_closed());
        let start = pending.first().map(|row| row.start);
        let of_start = pending.iter().take_while(|row| Some(row.start) == start);
        let count = of_start.count().min(ROWS_MAX);
        pending.drain(..count).collect()
    };
    let inserted = insert(turn, &rows).await;
    for row in rows {
        let inserted = match &inserted {
            Ok(()) => Ok(()),
            Err(error) => Err(error.duplicate()),
        };
        let _ = row.inserted.send(inserted);
    }
}

/// Inserts rows that are all of one start.
async fn insert(turn: &mut ControlTurn, rows: &[Pending]) -> Result<()> {
    if let Some(row) = rows.first() {
        turn.reach(row.start).await?;
    }
    let mut missing: Vec<_> = rows.iter().map(|row| row.row.as_str()).collect();
    // An insert locks each row that exists, and waits for those that are held, with all the others.
    let existing = match missing.len() {
        0 | 1 => Vec::new(),
        _ => existing(turn, &missing).await?,
    };
    missing.retain(|row| existing.iter().all(|existing| existing != row));
    if missing.is_empty() {
        return Ok(());
    }
    // In the same order in all clients, or two could wait for each other.
    missing.sort_unstable();
    let values = missing.join("), (");
    let sql = format!("INSERT IGNORE INTO {LOCKS} (name) VALUES ({values})");
    match turn.query(&sql).await {
        // Another client has just inserted one of them, and holds it.
        Err(error) if error.kind() == ErrorKind::Contended => Ok(()),
        inserted => inserted.map(drop),
    }
}

/// Which of these rows exist. Locks none.
async fn existing(turn: &mut ControlTurn, rows: &[&str]) -> Result<Vec<String>> {
    let rows = rows.join(", ");
    let sql = format!("SELECT LOWER(HEX(name)) FROM {LOCKS} WHERE name IN ({rows})");
    let found = turn.query(&sql).await?.into_iter();
    let digits = found.filter_map(|row| row.into_iter().next().flatten());
    Ok(digits.map(|digits| format!("x'{digits}'")).collect())
}
