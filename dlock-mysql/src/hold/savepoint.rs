//! A savepoint in the transaction that holds: whether that transaction is still the one that locked the row (K1).
//!
//! A statement that uses a table can be the victim of a deadlock. The server then undoes the whole transaction, which
//! frees the row, and the session goes on. Savepoints end with their transaction. So each such statement follows a
//! savepoint, to which the session returns. As long as the return is not confirmed, each heartbeat returns first.

use std::{borrow::Cow, time::Duration};

use dlock_core::{Clock, Result};

use crate::{conn::connection::Connection, sql::row::Row};

const SAVEPOINT: &str = "SAVEPOINT dlock_held";

const RETURN: &str = "ROLLBACK TO SAVEPOINT dlock_held";

/// Sends `sql`, which uses a table, in the transaction that holds. The last heartbeat has found the session alive.
pub(super) async fn query(
    connection: &mut Connection,
    clock: &Clock,
    sql: &str,
    request_timeout: Duration,
) -> Result<Vec<Row>> {
    // It uses no table. Without its reply no other statement follows, so nothing has to be proved.
    connection.query(clock, SAVEPOINT, request_timeout).await?;
    connection.has_savepoint = true;
    let sql = format!("{sql}; {RETURN}");
    let rows = connection.query(clock, &sql, request_timeout).await?;
    connection.has_savepoint = false;
    Ok(rows)
}

/// The statement `sql`, after the return to a savepoint whose return is not confirmed.
pub(super) fn after_return(connection: &Connection, sql: &'static str) -> Cow<'static, str> {
    match connection.has_savepoint {
        true => format!("{RETURN}; {sql}").into(),
        false => sql.into(),
    }
}
