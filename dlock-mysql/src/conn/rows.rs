//! The rows of names that are used for the first time.
//!
//! Each insert is a commit, and a write to disk. So names of many tasks that are new at about the same time are
//! inserted by one statement.

use std::sync::Arc;

use dlock_core::{
    Clock, ErrorKind, Result,
    backend::SentAt,
    toolkit::{BatchReply, Batcher},
};

use crate::{conn::control::Control, sql::tables::LOCKS};

/// The most rows in a statement.
const SIZE_MAX: usize = 100;

/// Inserts rows.
pub(crate) struct RowBatcher(Batcher<String, Result<()>>);

impl RowBatcher {
    /// For the tables of this connection.
    pub(crate) fn new(tables: Arc<Control>, clock: Clock) -> Self {
        Self(Batcher::eager(SIZE_MAX, move |rows| {
            let (tables, sent) = (tables.clone(), SentAt::now(&clock));
            Box::pin(async move { insert(&tables, sent, rows).await })
        }))
    }

    /// Inserts the row of a name, unless it is there. `row` is its key as a literal.
    pub(crate) async fn insert(&self, row: String) -> Result<()> {
        self.0.join(row).await?.1
    }
}

async fn insert(tables: &Control, sent: SentAt, mut rows: Vec<String>) -> BatchReply<Result<()>> {
    let count = rows.len();
    // In the same order in all clients: each waits for the row that the other one has inserted otherwise.
    rows.sort_unstable();
    match insert_together(tables, &rows).await {
        // Of these rows one may delay the others.
        Err(error) if count > 1 && error.kind() == ErrorKind::Contended => {}
        inserted => {
            let of_each = |_| match &inserted {
                Ok(()) => Ok(()),
                Err(error) => Err(error.duplicate()),
            };
            return Ok((sent, (0..count).map(of_each).collect()));
        }
    }
    for row in rows.chunks(1) {
        insert_together(tables, row).await?;
    }
    Ok((sent, (0..count).map(|_| Ok(())).collect()))
}

async fn insert_together(tables: &Control, rows: &[String]) -> Result<()> {
    let values = rows.join("), (");
    let sql = format!("INSERT IGNORE INTO {LOCKS} (name) VALUES ({values})");
    match tables.query(sql).await {
        // The client that has it locked has inserted it.
        Err(error) if rows.len() == 1 && error.kind() == ErrorKind::Contended => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}
