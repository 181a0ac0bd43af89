//! One try of an attempt: it locks the row without waiting for it.

use dlock_core::{
    Effect, Error, ErrorKind, Result,
    backend::{Lease, SentAt, Wait},
};

use crate::{
    acquire::{
        acquisition::{Acquisition, Grant},
        blocked, grant,
        statement::{LockMode, LockedRow, RowResult},
        undo::undo,
    },
    config::TokenSource,
    conn::{
        connection::{Connection, Statement},
        pool::Permit,
    },
    epoch::cache::Reader,
    errors,
    hold::handle::HeldConnection,
    keys,
    restart_guard::restart,
};

/// A row is inserted and locked so often: an administrator may delete old rows at that very moment.
const ROW_TRIES_MAX: usize = 3;

/// The result of a try: the lease, or the connection of one whose row is locked by another holder.
pub(crate) type Tried = Result<Result<Lease, Contended>>;

/// Another holder has the row locked. The connection holds nothing; that of a wait has an open transaction.
pub(crate) struct Contended(pub(crate) HeldConnection);

/// Locks the row if it is free. An idle connection that has ended is replaced once.
pub(crate) async fn try_acquire(acquisition: &Acquisition<'_>, permit: Permit) -> Tried {
    // Boxed here and below, as it is rare: the futures of acquires stay small.
    let Some(connection) = acquisition.pool.reuse() else {
        return Box::pin(try_new_connection(acquisition, permit)).await;
    };
    let mut held = HeldConnection { connection, permit };
    match lock_row(acquisition, &mut held.connection).await {
        Ok(grant) => Ok(conclude(acquisition, held, grant)),
        Err(error) => {
            let permit = Box::pin(retry_elsewhere(acquisition, held, error)).await?;
            Box::pin(try_new_connection(acquisition, permit)).await
        }
    }
}

async fn try_new_connection(acquisition: &Acquisition<'_>, permit: Permit) -> Tried {
    let connection = connect(acquisition).await?;
    let mut held = HeldConnection { connection, permit };
    match lock_row(acquisition, &mut held.connection).await {
        Ok(grant) => Ok(conclude(acquisition, held, grant)),
        Err(error) => {
            let session = held.connection.session;
            drop(held);
            Err(undo(acquisition, session, error).await)
        }
    }
}

/// A new connection to a server that may grant, with its epoch.
async fn connect(acquisition: &Acquisition<'_>) -> Result<Connection> {
    let pool = acquisition.pool;
    let (mut connection, info) = pool.open(acquisition.wait_timeout).await?;
    connection.epoch = restart::admit(pool, &mut connection, &info).await?;
    // Else programs that take one lock each would never raise it.
    if acquisition.tokens() == TokenSource::Epoch {
        grant::raise_if_behind(pool, &mut connection).await;
    }
    pool.epochs.store(connection.epoch);
    Ok(connection)
}

/// Undoes a try on a connection that was idle. The permit is for another try, if the session was over.
async fn retry_elsewhere(
    acquisition: &Acquisition<'_>,
    held: HeldConnection,
    error: Error,
) -> Result<Permit> {
    let HeldConnection { connection, permit } = held;
    let session = connection.session;
    drop(connection);
    let was_over = errors::is_session_over(&error) || errors::is_session_moved(&error);
    let error = undo(acquisition, session, error).await;
    if was_over && error.effect() == Effect::None {
        return Ok(permit);
    }
    Err(error)
}

fn conclude(
    acquisition: &Acquisition<'_>,
    held: HeldConnection,
    grant: Option<Grant>,
) -> Result<Lease, Contended> {
    match grant {
        Some(grant) => Ok(acquisition.lease(held, grant)),
        None => Err(Contended(held)),
    }
}

/// Locks the row without waiting, and inserts it if it is missing. `None` if it is contended.
async fn lock_row(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
) -> Result<Option<Grant>> {
    let (pool, request) = (acquisition.pool, acquisition.request);
    let mut mode = LockMode::NoWait;
    let mut tries = 0;
    loop {
        let (sent, session) = (request.sent_now(), connection.session);
        let reply = Box::pin(request_row(acquisition, connection, sent, mode));
        let result = blocked::reply_or_reason(acquisition, session, reply).await;
        let result = match result {
            Err(error) if connection.fall_back_to_text(Statement::Lock, &error) => continue,
            result => result?,
        };
        connection.wait_timeout = acquisition.wait_timeout;
        acquisition.record_taken(matches!(result, RowResult::Contended), sent);
        match result {
            RowResult::Locked(locked) => {
                let granted = grant::grant(acquisition, connection, locked, sent);
                return Box::pin(granted).await.map(Some);
            }
            RowResult::Missing => {
                tries += 1;
                if tries > ROW_TRIES_MAX {
                    let why = "the row of this name is deleted again and again";
                    return Err(Error::new(ErrorKind::Unavailable, why));
                }
                let row = keys::literal(&acquisition.row);
                Box::pin(pool.insert_row(row, session.start)).await?;
            }
            // The server rolls back the statement only. The wait goes on in its transaction.
            RowResult::Contended if request.wait != Wait::Never => {
                if !acquisition.is_blocked() {
                    request.attempt.report_contended();
                }
                return Ok(None);
            }
            RowResult::Contended => {
                let timeout = acquisition.request_timeout();
                let rolled_back = connection.query(request.clock(), "ROLLBACK", timeout);
                Box::pin(rolled_back).await?;
                if mode == LockMode::SkipLocked {
                    return Ok(None);
                }
                mode = LockMode::SkipLocked;
            }
        }
    }
}

/// Sends one statement that locks the row if it is free.
async fn request_row(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
    sent: SentAt,
    mode: LockMode,
) -> Result<RowResult> {
    let (clock, timeout) = (acquisition.request.clock(), acquisition.request_timeout());
    let wait_timeout = acquisition.wait_timeout;
    let reads_epoch = acquisition.must_read_epoch(Reader::Grant, connection, sent);
    let is_row_enough =
        !reads_epoch && acquisition.tokens() == TokenSource::Epoch && mode == LockMode::NoWait;
    if is_row_enough && connection.is_prepared() && connection.wait_timeout == wait_timeout {
        return match connection.lock_row(clock, &acquisition.row, timeout).await {
            Ok(Some(serial)) => Ok(RowResult::Locked(LockedRow {
                serial,
                epoch: None,
            })),
            Ok(None) => Ok(RowResult::Missing),
            Err(error) if errors::is_contended(&error) => Ok(RowResult::Contended),
            Err(error) => Err(error),
        };
    }
    let mut statement = acquisition.statement(connection, wait_timeout, mode);
    statement.reads_epoch = reads_epoch;
    match connection.query(clock, &statement.render(), timeout).await {
        Ok(rows) => RowResult::read(&rows, sent),
        Err(error) if !errors::is_contended(&error) => Err(error),
        Err(_) if mode == LockMode::NoWait => Ok(RowResult::Contended),
        Err(_) => Err(errors::unknown_table_lock()),
    }
}
