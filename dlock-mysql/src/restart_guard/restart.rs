//! The restart guard: whether a server that was started or promoted may grant yet.
//!
//! It begins with the first client that connects, and the row of the epoch records that for later clients. The
//! server's start does not begin it: a second server of the same data waits for the first to end, and a server that
//! takes over may have run for long. The guard needs no record of its end, because the epoch is raised then.
//!
//! A started server knows no lock of before, and the holders may not have noticed the start. So the server grants
//! nothing until the longest ttl that was in use is over (K1).

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Result};

use crate::{
    config::TokenSource,
    conn::{connection::Connection, pool::Pool},
    epoch::{
        guard_clock::GuardClock,
        row::{self, Epoch, FRESH, NO_BASE, NextStart, SERIAL_MASK},
    },
    errors,
    sql::{row::Row, server::ServerInfo, tables::EPOCH},
};

/// A server grants nothing in its first seconds: two starts within one second would count alike.
const UPTIME_SECONDS_MIN: u64 = 2;

/// The server counts whole seconds, and begins in the middle of one.
const SECOND: Duration = Duration::from_secs(1);

/// Two connections raise the epoch at once; the loser reads the winner's.
const TRIES_MAX: usize = 8;

/// The epoch of the server start `info`, which `connection` leads to and which is not a replica. The epoch is
/// raised if this start has none yet and its guard is over. No transaction stays open, with autocommit or not.
///
/// # Errors
///
/// `Unavailable` in the first seconds of a server, and while its guard lasts.
pub(crate) async fn admit(
    pool: &Pool,
    connection: &mut Connection,
    info: &ServerInfo,
) -> Result<Epoch> {
    // Also with committed tokens: sessions are killed by their server start.
    check_uptime(pool, info)?;
    let (clock, config) = (&pool.connector.clock, pool.config());
    let start = info.session.start;
    for _ in 0..TRIES_MAX {
        let sent = clock.now();
        let sql = format!("{}; COMMIT", row::select());
        let rows = query(pool, connection, &sql).await?;
        let row = row::find_row(&rows).ok_or_else(row::missing_row)?;
        let (epoch, next) = (Epoch::read(row, sent)?, NextStart::read(row)?);
        if epoch.counts(start, config.tokens) {
            return Ok(epoch);
        }
        if epoch.start != start && !epoch.is_new() {
            if begin_or_check(pool, connection, info, &epoch, next).await? {
                continue;
            }
            // Its connections may be open, and this server demoted again before they read the row.
            if !epoch.start.is_of_same_server(start) {
                tokio::time::sleep(FRESH).await;
            }
        }
        let (unchanged, boot) = (next.unchanged(&epoch), start.0);
        let base = match config.tokens {
            TokenSource::Epoch => info.serial & SERIAL_MASK,
            TokenSource::Committed => NO_BASE,
        };
        let raise = format!(
            "UPDATE {EPOCH} SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), boot = {boot}, base = \
             {base}, next_boot = 0 WHERE {unchanged}; COMMIT"
        );
        query(pool, connection, &raise).await?;
    }
    let why =
        "dlock_epoch changed during each of our writes; check that no two servers share the table";
    Err(Error::new(ErrorKind::Unavailable, why))
}

/// Sends statements that work with the row of the epoch.
async fn query(pool: &Pool, connection: &mut Connection, sql: &str) -> Result<Vec<Row>> {
    let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
    let rows = connection.query(clock, sql, request_timeout).await;
    rows.map_err(errors::of_table_statement)
}

fn check_uptime(pool: &Pool, info: &ServerInfo) -> Result<()> {
    if info.uptime < UPTIME_SECONDS_MIN {
        let server = pool.config().address();
        let why = format!(
            "the server {server} has just been started and grants no locks for two seconds"
        );
        return Err(Error::new(ErrorKind::Unavailable, why));
    }
    Ok(())
}

/// Begins the guard of a start that `epoch` does not name, or checks that it is over. True if it was begun
/// just now, so that the row has to be read again.
///
/// # Errors
///
/// `Unavailable` while the guard lasts.
async fn begin_or_check(
    pool: &Pool,
    connection: &mut Connection,
    info: &ServerInfo,
    epoch: &Epoch,
    next: NextStart,
) -> Result<bool> {
    let (clock, config) = (&pool.connector.clock, pool.config());
    let longest = epoch.longest_ttl();
    if config.restart_guard.is_zero() || longest.is_zero() {
        return Ok(false);
    }
    let start = info.session.start;
    if next.start != start {
        let (boot, unchanged) = (start.0, next.unchanged(epoch));
        let begin = format!(
            "UPDATE {EPOCH} SET next_boot = {boot}, guarded_since = UNIX_TIMESTAMP() WHERE {unchanged}; \
             COMMIT"
        );
        query(pool, connection, &begin).await?;
        return Ok(true);
    }
    let now = GuardClock::read(epoch, next, epoch.read.unwrap_or_else(|| clock.now()));
    let elapsed = pool.epochs.first_reading(now).elapsed(&now);
    let left = (longest + SECOND).saturating_sub(elapsed);
    if left.is_zero() {
        return Ok(false);
    }
    Err(errors::restart_guard_active(left, longest))
}
