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
    sql::tables::LOCKS,
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

    /// Inserts the row of a name, unless it is there. `row` is its key as a literal.
    pub(crate) async fn insert(&self, row: String) -> Result<()> {
        let (inserted, answer) = oneshot::channel();
        self.pending.lock().push(Pending { row, inserted });
        let pending = self.pending.clone();
        // A row is pending before its turn, so it is sent in that turn at the latest; or more than ROWS_MAX were before
        // it, and their turns are still to come.
        let turn = |mut turn: ControlTurn| async move {
            insert_pending(&mut turn, &pending).await;
            Ok(())
        };
        self.tables.run(turn).await?;
        answer.await.map_err(|_| errors::connection_lost())?
    }
}

async fn insert_pending(turn: &mut ControlTurn, pending: &Lock<Vec<Pending>>) {
    let mut rows = {
        let mut pending = pending.lock();
        // A row whose caller is gone is not needed.
        pending.retain(|row| !row.inserted.is_closed());
        let count = pending.len().min(ROWS_MAX);
        pending.drain(..count).collect::<Vec<_>>()
    };
    if rows.is_empty() {
        return;
    }
    // In the same order in all clients, or two could wait for each other.
    rows.sort_unstable_by(|a, b| a.row.cmp(&b.row));
    let inserted = insert(turn, &rows).await;
    let is_one_locked = |error: &dlock_core::Error| error.kind() == ErrorKind::Contended;
    if rows.len() > 1 && inserted.as_ref().is_err_and(is_one_locked) {
        for row in rows {
            let inserted = insert(turn, std::slice::from_ref(&row)).await;
            let _ = row.inserted.send(inserted);
        }
        return;
    }
    for row in rows {
        let inserted = match &inserted {
            Ok(()) => Ok(()),
            Err(error) => Err(error.duplicate()),
        };
        let _ = row.inserted.send(inserted);
    }
}

async fn insert(turn: &mut ControlTurn, rows: &[Pending]) -> Result<()> {
    let literals: Vec<_> = rows.iter().map(|row| row.row.as_str()).collect();
    let values = literals.join("), (");
    let sql = format!("INSERT IGNORE INTO {LOCKS} (name) VALUES ({values})");
    match turn.query(&sql).await {
        // The client that has it locked has inserted it.
        Err(error) if rows.len() == 1 && error.kind() == ErrorKind::Contended => Ok(()),
        inserted => inserted.map(drop),
    }
}
