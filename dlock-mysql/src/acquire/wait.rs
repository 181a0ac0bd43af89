//! Waiting for a locked row, in the server's own queue.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::Lease,
    toolkit::{Backoff, pause_after},
};

use crate::{
    acquire::{
        acquisition::{Acquisition, Grant},
        attempt::{Contended, Tried, try_acquire},
        blocked, grant,
        statement::LockMode,
        undo::leave_queue,
    },
    conn::{
        connection::Connection,
        pool::{Permit, ROW_WAIT_MAX},
    },
    epoch::{cache::Reader, row},
    errors,
    hold::handle::HeldConnection,
    restart_guard::longest_ttl::whole_seconds,
    sql::row::number,
    token::epoch,
};

/// A wait whose reply took no longer than so many exchanges found the row free.
const FREE_EXCHANGES_MAX: u32 = 2;

/// A wait that ends sooner tries first: the server says only after [`ROW_WAIT_MAX`] that a row is still locked (K6).
const STRAIGHT_MIN: Duration = ROW_WAIT_MAX.saturating_mul(2);

/// An idle connection for a wait that goes to the queue without a try, as its name was taken a moment ago.
pub(crate) fn straight_to_queue(
    acquisition: &Acquisition<'_>,
    permit: &Permit,
) -> Option<Contended> {
    let (request, pool) = (acquisition.request, acquisition.pool);
    let now = request.clock().now();
    let ends_soon = request
        .wait_until
        .is_some_and(|until| until < now.after(STRAIGHT_MIN));
    if ends_soon || !acquisition.taken.is_taken(now) {
        return None;
    }
    let connection = pool.reuse()?;
    let permit = permit.clone();
    Some(Contended(HeldConnection { connection, permit }))
}

/// Waits until the lock is granted or the attempt is cancelled (K7). A cancelled wait kills its statement and
/// closes its connection, within `connect_timeout` and `timeout`. `tried` is the result of the first try.
pub(crate) async fn wait(
    acquisition: &Acquisition<'_>,
    permit: Permit,
    mut tried: Tried,
) -> Result<Lease> {
    let (request, pool) = (acquisition.request, acquisition.pool);
    let mut backoff = Backoff::new();
    loop {
        let failed = match tried {
            Ok(Ok(lease)) => return Ok(lease),
            Ok(Err(contended)) => {
                backoff.reset();
                match queue(acquisition, contended).await {
                    Ok(Some(lease)) => return Ok(lease),
                    // Another client deleted old rows: the next try inserts the row again.
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = failed {
            if request.attempt.is_cancelled() {
                return Err(error);
            }
            match error.kind() {
                // The statement was in the queue for as long as the server allows.
                ErrorKind::Contended => {}
                ErrorKind::Unavailable if !pool.is_closed() => {
                    pause_after(&request.attempt, &error, &mut backoff).await?;
                }
                _ => return Err(error),
            }
        }
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        tried = try_acquire(acquisition, permit.clone()).await;
    }
}

/// Waits for the row on the connection; `None` when the row is missing.
async fn queue(
    acquisition: &Acquisition<'_>,
    Contended(mut held): Contended,
) -> Result<Option<Lease>> {
    let connection = &mut held.connection;
    let granted = match request_row(acquisition, connection).await {
        Ok(Some(locked)) => confirm(acquisition, connection, locked).await.map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    match granted {
        Ok(Some(grant)) => Ok(Some(acquisition.lease(held, grant))),
        Ok(None) => {
            leave_queue(acquisition, held, None).await;
            Ok(None)
        }
        Err(error) => {
            leave_queue(acquisition, held, Some(&error)).await;
            Err(error)
        }
    }
}

/// A row that is locked after a wait, and not confirmed yet.
struct Waited {
    /// The server's serial number of the grant.
    serial: u64,
    took: Duration,
}

/// Turns the row into a grant, behind whose request a table lock may delay the epoch.
async fn confirm(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
    locked: Waited,
) -> Result<Grant> {
    let (session, request) = (connection.session, acquisition.request);
    let sent = request.sent_now();
    let grant = Box::pin(grant::confirm(acquisition, connection, locked.serial, sent));
    let grant = blocked::reply_or_reason(acquisition, session, grant).await?;
    // The row was free if the wait for it took no longer than exchanges do.
    let exchange = request.clock().now().since(sent.instant());
    let is_taken = locked.took > exchange * FREE_EXCHANGES_MAX;
    acquisition.record_taken(is_taken, sent);
    if is_taken {
        request.attempt.report_contended();
    }
    Ok(grant)
}

/// Sends the statement that waits for the row, and awaits its end; `None` if the row is missing.
async fn request_row(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
) -> Result<Option<Waited>> {
    let request = acquisition.request;
    let (session, confirm_timeout) = (connection.session, confirm_timeout(acquisition));
    let sent = request.sent_now();
    let reads_epoch = acquisition.must_read_epoch(Reader::Wait, connection, sent);
    let statement = acquisition.statement(connection, confirm_timeout, LockMode::Wait);
    let sql = statement.render();
    // It may wait for the table before the row, and the server checks the time once a second.
    let reply_timeout = ROW_WAIT_MAX * 2 + acquisition.request_timeout();
    let reply = async {
        let rows = connection.query_unbounded(request.clock(), &sql).await;
        rows.map_err(errors::of_request)
    };
    // Its later reading would delay the next waiter. A longer wait reads it again with the confirmation.
    let refresh_epoch = async {
        if reads_epoch {
            let _ = epoch::query(acquisition.pool, session.start, row::select()).await;
        }
        std::future::pending().await
    };
    let rows = tokio::select! {
        rows = blocked::reply_or_reason(acquisition, session, reply) => rows,
        never = refresh_epoch => never,
        () = request.attempt.cancelled() => Err(Error::cancelled()),
        // A server that is cut off never replies.
        () = tokio::time::sleep(reply_timeout) => Err(errors::request_timed_out(reply_timeout)),
    };
    // The first statement has set it, also if the second one failed.
    if connection.is_reusable() {
        connection.wait_timeout = confirm_timeout;
    }
    let rows = rows?;
    let locked = |row| {
        let serial = number(row, 0)?;
        let took = request.clock().now().since(sent.instant());
        Ok(Waited { serial, took })
    };
    rows.first().map(locked).transpose()
}

/// The seconds in which a waiter that is granted the row has to confirm, or the server ends its session. A reply
/// may take as long. A waiter whose host vanished must not hold the row for a ttl.
fn confirm_timeout(acquisition: &Acquisition<'_>) -> u64 {
    whole_seconds(acquisition.request_timeout()).min(acquisition.wait_timeout)
}
