//! Grants that wait behind a table lock.
//!
//! A statement of another client may lock dlock's tables: an `ALTER TABLE`, a backup. New grants of all names
//! wait behind it in the server. No client can change that, so the acquisition reports it, and soon.

use std::{future::Future, time::Duration};

use dlock_core::{Error, Result, backend::Wait};

use crate::{
    acquire::acquisition::Acquisition,
    conn::{control::ControlTurn, pool::Pool},
    errors,
    sql::server::SessionId,
};

/// A later reply is investigated. The server gives up on a table after a second.
const LATE: Duration = Duration::from_millis(500);

/// Awaits the reply of `session` to a statement that locks a row. If a table lock delays it, a try ends with
/// that reason, and a wait goes on and reports it.
pub(crate) async fn reply_or_reason<T>(
    acquisition: &Acquisition<'_>,
    session: SessionId,
    reply: impl Future<Output = Result<T>>,
) -> Result<T> {
    let investigate = async {
        tokio::time::sleep(LATE).await;
        // Boxed, as it is rare: the futures of acquires stay small.
        let Ok(reason) = Box::pin(table_lock(acquisition.pool, session)).await else {
            return std::future::pending().await;
        };
        if acquisition.request.wait == Wait::Never
            && let Some(error) = reason
        {
            return error;
        }
        acquisition.report(reason);
        std::future::pending().await
    };
    tokio::select! {
        biased;
        reply = reply => reply,
        error = investigate => Err(error),
    }
}

/// The table lock that the session waits for, if it does.
async fn table_lock(pool: &Pool, session: SessionId) -> Result<Option<Error>> {
    let id = session.connection;
    let sql = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    let query = move |mut turn: ControlTurn| async move {
        turn.reach(session.start).await?;
        turn.query(&sql).await
    };
    let rows = pool.sessions()?.run(query).await?;
    let state = rows.first().and_then(|row| row.first()?.as_deref());
    Ok(state.and_then(errors::table_lock))
}
