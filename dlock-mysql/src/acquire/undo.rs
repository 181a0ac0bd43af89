//! The undo of a try or a wait that failed: its session or its statement is ended, over another connection.

use dlock_core::{Effect, Error};

use crate::{
    acquire::acquisition::Acquisition, errors, hold::handle::HeldConnection, sql::server::SessionId,
};

/// Ends the session of a failed try; its `error`, without effect if the end is confirmed (K9).
pub(super) async fn undo(acquisition: &Acquisition<'_>, session: SessionId, error: Error) -> Error {
    let ended = match acquisition.pool.sessions() {
        Ok(sessions) => sessions.end_session(session).await,
        Err(error) => Err(error),
    };
    error.with_effect(ended.map_or(Effect::Unknown, |()| Effect::None))
}

/// Leaves the queue. The server would notice a closed socket only when the waiter's turn comes.
pub(super) async fn leave_queue(
    acquisition: &Acquisition<'_>,
    held: HeldConnection,
    error: Option<&Error>,
) {
    let HeldConnection {
        mut connection,
        permit,
    } = held;
    let pool = acquisition.pool;
    if !connection.is_reusable() {
        let ended = match pool.sessions() {
            Ok(sessions) => sessions.end_statement(connection.session).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a statement could not be ended; the server ends it by itself");
        }
    } else if error.is_some_and(errors::is_contended) {
        // Ends the transaction, too: it would lock the table for other statements.
        let (clock, timeout) = (&pool.connector.clock, acquisition.request_timeout());
        if connection.query(clock, "ROLLBACK", timeout).await.is_ok() {
            pool.put(connection);
        }
    }
    drop(permit);
}
