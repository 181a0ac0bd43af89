//! A statement of somebody else may keep dlock's tables to itself: a change of the table, a backup. New grants
//! wait behind it in the server, whatever their names, which no client can mend. It is said, and soon.

use std::{future::Future, time::Duration};

use dlock_core::{Error, Result, backend::Wait};

use crate::{acquire::attempt::Acquisition, conn::pool::Pool, errors, sql::server::SessionId};

/// So late an answer is looked after. The server gives a table up after a second.
const LATE: Duration = Duration::from_millis(500);

/// Awaits the answer of the session of `server` to what locks a row. If it is late because of a statement of
/// somebody else, a try ends with that reason, and a wait goes on and has it as its own.
pub(crate) async fn reply_or_reason<T>(
    acquisition: &Acquisition<'_>,
    server: SessionId,
    answer: impl Future<Output = Result<T>>,
) -> Result<T> {
    let telling = async {
        tokio::time::sleep(LATE).await;
        let Ok(seen) = look(acquisition.session(), server).await else {
            return std::future::pending().await;
        };
        if acquisition.request.wait == Wait::Never
            && let Some(error) = seen
        {
            return error;
        }
        acquisition.is_behind(seen);
        std::future::pending().await
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        error = telling => Err(error),
    }
}

/// What the session waits for, if that is no row.
async fn look(session: &Pool, server: SessionId) -> Result<Option<Error>> {
    let id = server.connection;
    let sql = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    let rows = session.sessions()?.query(sql).await?;
    let state = rows.first().and_then(|row| row.first()?.as_deref());
    Ok(state.and_then(errors::table_lock))
}
