//! A server that was started or promoted knows of no lock of before, and their holders may not have heard
//! of it. So it grants nothing until the longest ttl that was in use is over (K1).
//!
//! The guard begins when somebody first comes to the server: that is written down for those who come later. Not
//! with its start: a second server of the same data waits for the first to end, and counts from before that; and
//! one that takes over from another may have been up for long. Its end needs no record of its own: it is
//! when the epoch is raised.
//!
//! The server counts seconds by its clock, which may be set meanwhile (`Uptime` follows it, on MySQL and on
//! MariaDB). So a locker that has looked before counts on from there by its own clock, and lets the
//! server's move that neither forward nor back. What remains: the clock is set forward while nobody waits.

use std::time::Duration;

use dlock_core::{BootInstant, Result};

use crate::{
    conn::{
        connection::{Connection, Row},
        pool::Pool,
    },
    errors,
    keys::EPOCH,
    sql::server::{ServerInfo, ServerStart, number},
    token::epoch::Epoch,
};

/// The server counts whole seconds, and begins in the middle of one.
const SECOND: Duration = Duration::from_secs(1);

/// What the row of the epoch says of the start that will count next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    boot: ServerStart,
    /// The second, by the server's clock, since which its guard lasts.
    since: u64,
}

impl Next {
    /// What is in the answer to [`ask`](crate::token::epoch::ask).
    pub(crate) fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            boot: ServerStart(number(row, 3)?),
            since: number(row, 4)?,
        })
    }

    /// What says that the row is as it was read.
    pub(crate) fn is_unchanged(self, epoch: &Epoch) -> String {
        let (number, boot, next) = (epoch.number, epoch.boot.0, self.boot.0);
        format!("id = 1 AND epoch = {number} AND boot = {boot} AND next_boot = {next}")
    }
}

/// What a locker has seen of a guard first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    boot: ServerStart,
    since: u64,
    /// How long it had lasted by the server's clock.
    lasted: Duration,
    at: BootInstant,
}

impl Seen {
    /// What `epoch` shows of the guard that runs.
    fn of(epoch: &Epoch, next: Next, at: BootInstant) -> Self {
        let Next { boot, since } = next;
        Self {
            boot,
            since,
            // A clock that was set back behind it shows nothing.
            lasted: Duration::from_secs(u64::from(epoch.second).saturating_sub(since)),
            at,
        }
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (self.boot, self.since) == (other.boot, other.since)
    }

    /// How long the guard has lasted at least, less than a second, when the server's clock shows `now`.
    pub(crate) fn lasted(&self, now: &Self) -> Duration {
        let mine = now.at.since(self.at);
        now.lasted.clamp(mine, self.lasted.saturating_add(mine))
    }
}

/// Looks whether the server that `connection` leads to grants already though `epoch` does not name this start of
/// it. Whether its guard was begun just now, so that the row has to be read again.
///
/// # Errors
///
/// `Unavailable` while the guard lasts.
pub(crate) async fn begins(
    session: &Pool,
    connection: &mut Connection,
    start: &ServerInfo,
    epoch: &Epoch,
    next: Next,
) -> Result<bool> {
    let (clock, config) = (&session.connector.clock, session.config());
    let longest = epoch.longest();
    if config.restart_guard.is_zero() || longest.is_zero() {
        return Ok(false);
    }
    let boot = start.server.boot;
    if next.boot != boot {
        let (boot, unchanged) = (boot.0, next.is_unchanged(epoch));
        let begin = format!(
            "UPDATE {EPOCH} SET next_boot = {boot}, guarded_since = UNIX_TIMESTAMP() WHERE {unchanged}; \
             COMMIT"
        );
        connection
            .query(clock, &begin, config.request_timeout)
            .await?;
        return Ok(true);
    }
    let now = Seen::of(epoch, next, epoch.read.unwrap_or_else(|| clock.now()));
    let lasted = session.epochs.seen(now).lasted(&now);
    let left = (longest + SECOND).saturating_sub(lasted);
    if left.is_zero() {
        return Ok(false);
    }
    Err(errors::restart_guard_active(left, longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at: u64, lasted: u64) -> Seen {
        Seen {
            boot: ServerStart(7),
            since: 100,
            lasted: Duration::from_secs(lasted),
            at: BootInstant::from_nanos(at * 1_000_000_000),
        }
    }

    #[test]
    fn who_looks_first_believes_the_server() {
        let first = seen(50, 20);
        assert_eq!(first.lasted(&first), Duration::from_secs(20));
        assert_eq!(first.lasted(&seen(53, 23)), Duration::from_secs(23));
    }

    #[test]
    fn a_clock_that_is_set_meanwhile_ends_no_guard_and_prolongs_none() {
        let first = seen(50, 20);
        assert_eq!(first.lasted(&seen(53, 3_623)), Duration::from_secs(23));
        assert_eq!(first.lasted(&seen(53, 0)), Duration::from_secs(3));
    }
}
