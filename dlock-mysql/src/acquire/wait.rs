//! Waiting for a row that is locked, in the server's own queue.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease},
};

use crate::{
    acquire::{
        attempt::{Acquisition, Contended, LockedRow},
        blocked,
    },
    conn::{
        connection::{Connection, Row},
        pool::{Permit, QUEUE_MAX},
    },
    errors,
    hold::HeldConnection,
};

/// A server that cannot be asked is tried again after this,
const RETRY_MIN: Duration = Duration::from_millis(50);

/// which doubles up to this.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Waits until the lock is granted or the attempt is cancelled; then its statement is killed and its
/// connection closed, within `connect_timeout` and `timeout`.
pub(crate) async fn wait(acquisition: &Acquisition<'_>, permit: Permit) -> Result<Lease> {
    let (request, session) = (acquisition.request, acquisition.session());
    let mut pause = RETRY_MIN;
    loop {
        let error = match acquisition.try_acquire(permit.clone()).await {
            Ok(Ok(lease)) => return Ok(lease),
            Ok(Err(taken)) => {
                if !acquisition.was_blocked() {
                    request.attempt.report_contended();
                }
                pause = RETRY_MIN;
                match queue(acquisition, taken).await {
                    Ok(Some(lease)) => return Ok(lease),
                    // Another client deleted old rows: the next try inserts the row again.
                    Ok(None) if request.attempt.is_cancelled() => return Err(Error::cancelled()),
                    Ok(None) => continue,
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if request.attempt.is_cancelled() {
            return Err(error);
        }
        match error.kind() {
            // In the queue for as long as a statement may be.
            ErrorKind::Contended => {}
            ErrorKind::Unavailable if !session.is_closed() => {
                tracing::debug!(%error, "waiting goes on");
                request.attempt.report_unavailable(&error);
                sleep(request, pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
            _ => return Err(error),
        }
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
    }
}

/// Waits for the row on the connection; `None` when there is no such row any more.
async fn queue(
    acquisition: &Acquisition<'_>,
    Contended(mut held_connection): Contended,
) -> Result<Option<Lease>> {
    let sent = acquisition.request.sent_now();
    let granted = match ask(acquisition, &mut held_connection.connection).await {
        Ok(rows) => match LockedRow::read(&rows, sent) {
            Ok(Some(answer)) => acquisition
                .grant(&mut held_connection.connection, answer, sent)
                .await
                .map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match granted {
        Ok(Some(grant)) => Ok(Some(acquisition.lease(held_connection, grant))),
        Ok(None) => {
            leave(acquisition, held_connection, None).await;
            Ok(None)
        }
        Err(error) => {
            leave(acquisition, held_connection, Some(&error)).await;
            Err(error)
        }
    }
}

/// Sends what waits for the row, and awaits its end.
async fn ask(acquisition: &Acquisition<'_>, connection: &mut Connection) -> Result<Vec<Row>> {
    let request = acquisition.request;
    let (server, confirm_timeout) = (connection.server, acquisition.confirm_timeout());
    let mut sql = acquisition.statement(connection, confirm_timeout, "");
    acquisition.append_epoch_query(&mut sql);
    // Before the row it may wait for the table, and its server looks at the time once a second.
    let reply_timeout = QUEUE_MAX * 2 + acquisition.session().config().request_timeout;
    let turn = async { connection.query_unbounded(request.clock(), &sql).await };
    let rows = tokio::select! {
        rows = blocked::reply_or_reason(acquisition, server, async { turn.await.map_err(errors::of_request) }) => rows,
        () = request.attempt.cancelled() => Err(Error::cancelled()),
        // A server that is cut off says nothing for ever.
        () = tokio::time::sleep(reply_timeout) => Err(errors::request_timed_out(reply_timeout)),
    };
    // What is said first is done, whatever becomes of the row.
    if connection.is_reusable() {
        connection.wait_timeout = confirm_timeout;
    }
    rows
}

/// Leaves the queue: a closed socket alone would be noticed only when its turn comes (T63).
async fn leave(
    acquisition: &Acquisition<'_>,
    held_connection: HeldConnection,
    error: Option<&Error>,
) {
    let HeldConnection {
        mut connection,
        permit,
    } = held_connection;
    let session = acquisition.session();
    if !connection.is_reusable() {
        let ended = match session.sessions() {
            Ok(sessions) => sessions.end_statement(connection.server).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a statement could not be ended; the server ends it by itself");
        }
    } else if error.is_some_and(errors::is_contended) {
        // The statement is undo, and the transaction with it: it would keep the table from others.
        let (clock, request_timeout) = (&session.connector.clock, session.config().request_timeout);
        if connection
            .query(clock, "ROLLBACK", request_timeout)
            .await
            .is_ok()
        {
            session.keep(connection);
        }
    }
    drop(permit);
}

async fn sleep(request: &AcquireRequest, after: Duration) {
    tokio::select! {
        () = tokio::time::sleep(after) => {}
        () = request.attempt.cancelled() => {}
    }
}
