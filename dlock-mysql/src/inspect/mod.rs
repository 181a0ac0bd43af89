//! Who holds a lock.
//!
//! A grant writes nothing, as that would cost several times the lock itself. So who holds a lock is
//! asked through a table, and its holder answers when it looks there.

pub(crate) mod reply;

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Holder, LockName, Result};

use crate::{
    conn::{connection::Row, pool::Pool},
    errors,
    keys::{self, ASKED, LOCKS},
    sql::server::number,
};

/// How often it looks for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// How long it waits for one. A holder looks every tenth of a second, and what it answers is written
/// to a disk that may be busy; one that says nothing is busy itself, cut off, or no client of dlock.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Says who holds `name`.
pub(crate) async fn inspect(session: &Pool, name: &LockName) -> Result<Option<Holder>> {
    let row = keys::literal(&keys::row(&session.config().prefix, name));
    if is_free(session, &row).await? {
        return Ok(None);
    }
    let number_it = "SELECT UUID_SHORT()".to_owned();
    let rows = session.control()?.query(number_it).await?;
    let nothing = || Error::new(ErrorKind::Internal, "no number for a question");
    let id = number(rows.first().ok_or_else(nothing)?, 0)?;
    let ask = format!("INSERT INTO {ASKED} (id, name) VALUES ({id}, {row})");
    let asked = session.control()?.query(ask).await;
    asked.map_err(errors::of_table_statement)?;
    let answer = answer(session, id, &row).await;
    // Also what was left by those who died while they asked.
    let forget =
        format!("DELETE FROM {ASKED} WHERE id = {id} OR since < NOW() - INTERVAL 1 MINUTE");
    let forgotten = session.control()?.query(forget).await;
    forgotten.map_err(errors::of_table_statement)?;
    answer
}

async fn answer(session: &Pool, id: u64, row: &str) -> Result<Option<Holder>> {
    let look = format!("SELECT HEX(holder) FROM {ASKED} WHERE id = {id}");
    let clock = &session.connector.clock;
    let end = clock.now().after(REQUEST_TIMEOUT);
    while clock.now() < end {
        tokio::time::sleep(LOOK_EVERY).await;
        let rows = session.control()?.query(look.clone()).await?;
        if let Some(line) = rows.first().and_then(line) {
            return Ok(Some(Holder::parse(&line).unwrap_or_default()));
        }
    }
    // Released meanwhile, or somebody who does not answer.
    let is_free = is_free(session, row).await?;
    Ok((!is_free).then(Holder::foreign))
}

/// Whether nobody has it locked. A free row is locked for as long as this statement runs.
async fn is_free(session: &Pool, row: &str) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM {LOCKS} WHERE name = {row} FOR UPDATE SKIP LOCKED; SELECT 2 FROM {LOCKS} \
         WHERE name = {row}"
    );
    let rows = session.control()?.query(sql).await;
    let rows = rows.map_err(errors::of_table_statement)?;
    let is_locked = |row: &Row| row.first() == Some(&Some("2".to_owned()));
    Ok(!rows.first().is_some_and(is_locked))
}

/// The answer, if it is there.
fn line(row: &Row) -> Option<String> {
    let hex = row.first()?.as_deref().filter(|hex| !hex.is_empty())?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}
