//! Inspection of a lock's holder.
//!
//! A grant writes nothing, as a write costs several times the lock itself. So an inspection inserts a question
//! into a table, and the holder polls that table and answers.

pub(crate) mod reply;

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Holder, LockName, Result};

use crate::{
    conn::pool::Pool,
    errors, keys,
    sql::{
        row::{Row, bytes, number},
        tables::{ASKED, LOCKS},
    },
};

/// The pause between two reads of the answer.
const POLL_EVERY: Duration = Duration::from_millis(25);

/// How long an inspection waits for the answer. A holder polls every tenth of a second, and its answer is a
/// write. A holder that does not answer is busy, cut off, or not a client of dlock.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The holder of `name`.
pub(crate) async fn inspect(pool: &Pool, name: &LockName) -> Result<Option<Holder>> {
    let row = keys::literal(&keys::row(&pool.config().prefix, name));
    if is_free(pool, &row).await? {
        return Ok(None);
    }
    let number_it = "SELECT UUID_SHORT()".to_owned();
    let rows = pool.tables()?.query(number_it).await?;
    let nothing = || Error::new(ErrorKind::Internal, "no number for a question");
    let id = number(rows.first().ok_or_else(nothing)?, 0)?;
    let insert = format!("INSERT INTO {ASKED} (id, name) VALUES ({id}, {row})");
    let inserted = pool.tables()?.query(insert).await;
    inserted.map_err(errors::of_table_statement)?;
    let answer = answer(pool, id, &row).await;
    // Deletes also the questions of clients that died.
    let forget =
        format!("DELETE FROM {ASKED} WHERE id = {id} OR since < NOW() - INTERVAL 1 MINUTE");
    let forgotten = pool.tables()?.query(forget).await;
    forgotten.map_err(errors::of_table_statement)?;
    answer
}

async fn answer(pool: &Pool, id: u64, row: &str) -> Result<Option<Holder>> {
    let select = format!("SELECT HEX(holder) FROM {ASKED} WHERE id = {id}");
    let clock = &pool.connector.clock;
    let end = clock.now().after(ANSWER_TIMEOUT);
    while clock.now() < end {
        tokio::time::sleep(POLL_EVERY).await;
        let rows = pool.tables()?.query(select.clone()).await?;
        if let Some(line) = rows.first().and_then(line) {
            return Ok(Some(Holder::decode(&line, None)));
        }
    }
    // Released by now, or a holder that does not answer.
    let is_free = is_free(pool, row).await?;
    Ok((!is_free).then(Holder::foreign))
}

/// Whether the row is free. This statement locks a free row while it runs.
async fn is_free(pool: &Pool, row: &str) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM {LOCKS} WHERE name = {row} FOR UPDATE SKIP LOCKED; SELECT 2 FROM {LOCKS} \
         WHERE name = {row}"
    );
    let rows = pool.tables()?.query(sql).await;
    let rows = rows.map_err(errors::of_table_statement)?;
    let is_locked = |row: &Row| row.first() == Some(&Some("2".to_owned()));
    Ok(!rows.first().is_some_and(is_locked))
}

/// The answer, if it has arrived.
fn line(row: &Row) -> Option<Vec<u8>> {
    bytes(row, 0).filter(|line| !line.is_empty())
}
