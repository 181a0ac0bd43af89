//! Turns a locked row into a grant: the hold is confirmed, and its token and its ttl are covered by the epoch row.

use dlock_core::{Error, ErrorKind, LostCause, Result, Token, backend::SentAt};

use crate::{
    acquire::{
        acquisition::{Acquisition, Grant},
        statement::LockedRow,
    },
    config::TokenSource,
    conn::{connection::Connection, pool::Pool},
    epoch::{
        cache::Reader,
        row::{self, Epoch},
    },
    errors,
    hold::heartbeat::{self, Heartbeat},
    restart_guard::longest_ttl,
    token::{committed, epoch},
};

/// The epoch is raised so often for one grant: other grants may use up its values.
const RAISES_MAX: usize = 3;

/// A grant whose reply took a longer part of the ttl is followed by a heartbeat. The hold then counts from the
/// heartbeat (K2).
const LATE_DIVISOR: u32 = 10;

/// The grant of a row that was waited for, with the server's `serial` number. The hold counts from the
/// confirmation, which is requested at `sent`.
pub(super) async fn confirm(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
    serial: u64,
    sent: SentAt,
) -> Result<Grant> {
    let (pool, wait_timeout) = (acquisition.pool, acquisition.wait_timeout);
    let reads_epoch = acquisition.must_read_epoch(Reader::Grant, connection, sent);
    // A waiter's session is short-lived until this heartbeat, so it comes first (K2).
    let (heartbeat, epoch) =
        heartbeat::confirm(pool, connection, wait_timeout, sent.instant(), reads_epoch).await?;
    check(heartbeat)?;
    let locked = LockedRow { serial, epoch };
    grant(acquisition, connection, locked, sent).await
}

/// The grant of a row that `locked` shows; the hold counts from the request of `sent`.
pub(super) async fn grant(
    acquisition: &Acquisition<'_>,
    connection: &mut Connection,
    locked: LockedRow,
    sent: SentAt,
) -> Result<Grant> {
    let (pool, request) = (acquisition.pool, acquisition.request);
    let (start, tokens) = (connection.session.start, pool.config().tokens);
    let Counted {
        token,
        by_other_connection,
    } = match tokens {
        TokenSource::Epoch => token_of(pool, connection, locked).await?,
        TokenSource::Committed => {
            let (token, epoch) = committed::next(pool, start).await?;
            connection.epoch = epoch;
            Counted {
                token,
                by_other_connection: true,
            }
        }
    };
    longest_ttl::cover(pool, start, &mut connection.epoch, acquisition.wait_timeout).await?;
    let is_late = request.clock().now().since(sent.instant()) > request.ttl / LATE_DIVISOR;
    if !is_late && !by_other_connection {
        return Ok(Grant { token, sent });
    }
    let sent = request.sent_now();
    check(heartbeat::send(pool, connection).await?)?;
    Ok(Grant { token, sent })
}

/// The token of a grant.
struct Counted {
    token: Token,
    /// Another connection has counted it, or raised the epoch for it. The session may have ended before, and the next
    /// holder may have the smaller token (K5).
    by_other_connection: bool,
}

/// Whether the session still holds after the grant.
fn check(heartbeat: Heartbeat) -> Result<()> {
    match heartbeat {
        Heartbeat::Alive => Ok(()),
        Heartbeat::Lost(LostCause::Demoted) => Err(errors::read_only()),
        Heartbeat::Lost(_) => Err(errors::connection_lost()),
    }
}

/// The token of a grant, by an epoch that is fresh.
async fn token_of(pool: &Pool, connection: &mut Connection, locked: LockedRow) -> Result<Counted> {
    let clock = &pool.connector.clock;
    let is_read = match locked.epoch {
        Some(epoch) => {
            connection.epoch = epoch;
            true
        }
        None if connection.epoch.is_fresh(clock.now()) => false,
        None => {
            read_epoch(pool, connection).await?;
            true
        }
    };
    if connection.epoch.start != connection.session.start {
        return Err(errors::session_moved());
    }
    if is_read {
        pool.epochs.store(connection.epoch);
    }
    count(pool, connection, locked.serial, is_read).await
}

async fn read_epoch(pool: &Pool, connection: &mut Connection) -> Result<()> {
    let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
    let sent = clock.now();
    let rows = connection
        .query(clock, &row::select(), request_timeout)
        .await
        .map_err(errors::of_table_statement)?;
    let row = rows.first().ok_or_else(row::missing_row)?;
    connection.epoch = Epoch::read(row, sent)?;
    Ok(())
}

/// Raises the epoch of a connection, which has just read it, if it is far behind the server's clock.
pub(super) async fn raise_if_behind(pool: &Pool, connection: &mut Connection) {
    if !connection.epoch.lags() {
        return;
    }
    match epoch::raise(pool, connection.session.start, &connection.epoch).await {
        Ok(raised) => connection.epoch = raised,
        // The old epoch still counts.
        Err(error) => tracing::debug!(%error, "the epoch was not raised"),
    }
}

/// The token of the grant with `serial`. Raises the epoch if that is due.
async fn count(
    pool: &Pool,
    connection: &mut Connection,
    serial: u64,
    is_read: bool,
) -> Result<Counted> {
    let (start, read) = (connection.session.start, connection.epoch.number);
    if is_read {
        raise_if_behind(pool, connection).await;
    }
    for _ in 0..RAISES_MAX {
        if let Some(token) = connection.epoch.token(serial)? {
            return Ok(Counted {
                token,
                by_other_connection: connection.epoch.number != read,
            });
        }
        connection.epoch = epoch::raise(pool, start, &connection.epoch).await?;
    }
    let why = "the tokens that dlock_epoch gives are used up again and again";
    Err(Error::new(ErrorKind::Unavailable, why))
}
