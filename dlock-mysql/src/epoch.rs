//! Tokens without a write for each grant.
//!
//! `UUID_SHORT()` counts up while a server runs, and is read by the statement that locks, after the
//! lock is granted: so the order of its values is the order of the grants. Over restarts and failovers
//! an *epoch* goes before it, one row that the first connection to each start of a server raises, once:
//!
//! `token = epoch · 2^31 + (UUID_SHORT − base)`
//!
//! * The epoch is at least the time in seconds, so more than 2^31 grants of one start do no harm, and
//!   neither does a bump that a crash took back.
//! * Two starts within one second would count alike, so none grants in its first two.
//! * A server that was demoted and promoted again without a restart has connections from before. So what
//!   was read counts for half a second, and is read again after the grant then; and who takes over
//!   from another server waits as long before it raises the epoch. Until then nobody there grants.
//!
//! What remains: the row is lost *and* the server's clock was set back.

use std::time::Duration;

use dlock_core::{Clock, Error, ErrorKind, Moment, Result, Token};

use crate::{
    layout::EPOCH,
    link::{Link, Row},
    server::{Boot, Start, number},
};

/// How long a server grants nothing after its start.
const BOOT_GUARD_SECONDS: u64 = 2;

/// How long what was read counts; less than the least ttl, as who takes over waits for it.
pub(crate) const FRESH: Duration = Duration::from_millis(500);

/// Two connections raise the epoch at once; the loser sees the winner's.
const TRIES_MAX: usize = 8;

/// `UUID_SHORT()` without the server's id.
const SERIAL_MASK: u64 = (1 << 56) - 1;

/// What tokens are counted by, as a connection has read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    number: u64,
    base: u64,
    pub(crate) boot: Boot,
    /// When it was asked for.
    pub(crate) read: Option<Moment>,
}

/// Asks for the row.
pub(crate) fn ask() -> String {
    format!("SELECT epoch, boot, base FROM {EPOCH} WHERE id = 1")
}

impl Epoch {
    /// The row, asked for at `asked`.
    pub(crate) fn of(row: &Row, asked: Moment) -> Result<Self> {
        Ok(Self {
            number: number(row, 0)?,
            boot: Boot(number(row, 1)?),
            base: number(row, 2)?,
            read: Some(asked),
        })
    }

    /// Whether it was read so lately that a grant at `now` may use it.
    pub(crate) fn is_fresh(&self, now: Moment) -> bool {
        self.read.is_some_and(|read| now.since(read) < FRESH)
    }

    /// The token of the grant that came with `serial`.
    pub(crate) fn token(&self, serial: u64) -> Result<Token> {
        let count = (serial & SERIAL_MASK).checked_sub(self.base);
        let token = count.and_then(|count| (self.number << 31).checked_add(count));
        let token = token.filter(|token| *token <= Token::MAX);
        token.and_then(Token::new).ok_or_else(|| {
            let why = format!("no token for {serial} in {self:?}");
            Error::new(ErrorKind::Internal, why)
        })
    }
}

/// Refuses a server that has just been started.
pub(crate) fn check_age(start: &Start) -> Result<()> {
    if start.uptime < BOOT_GUARD_SECONDS {
        let why = "the server has just been started and grants no locks for two seconds";
        return Err(Error::new(ErrorKind::Unavailable, why));
    }
    Ok(())
}

/// The epoch of the server that `link` leads to, which is no replica, raised if this start of it has
/// none yet. The connection commits by itself or not, either way nothing stays open.
pub(crate) async fn of_server(
    link: &mut Link,
    clock: &Clock,
    start: &Start,
    answer_max: Duration,
) -> Result<Epoch> {
    for _ in 0..TRIES_MAX {
        let asked = clock.now();
        let sql = format!("{}; COMMIT", ask());
        let rows = link.ask(clock, &sql, answer_max).await?;
        let row = rows.first().ok_or_else(no_row)?;
        let epoch = Epoch::of(row, asked)?;
        if epoch.boot == start.server.boot {
            return Ok(epoch);
        }
        let boot = start.server.boot;
        // Its connections may be alive, and this server demoted again before they read the row.
        if epoch.number > 0 && !epoch.boot.is_of_same_server(boot) {
            tokio::time::sleep(FRESH).await;
        }
        let (seen, boot) = (epoch.number, boot.0);
        let base = start.serial & SERIAL_MASK;
        let raise = format!(
            "UPDATE {EPOCH} SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), boot = {boot}, base = \
             {base} WHERE id = 1 AND epoch = {seen}; COMMIT"
        );
        link.ask(clock, &raise, answer_max).await?;
    }
    let why = "the epoch of the tokens is raised again and again; do two servers share the table?";
    Err(Error::new(ErrorKind::Unavailable, why))
}

pub(crate) fn no_row() -> Error {
    let why = format!("{EPOCH} has lost its row; run dlock setup");
    Error::new(ErrorKind::InvalidConfig, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(number: u64, base: u64) -> Epoch {
        Epoch {
            number,
            base,
            ..Epoch::default()
        }
    }

    #[test]
    fn tokens_grow_with_the_count_and_with_the_epoch() {
        let first = epoch(1_800_000_000, 5 << 24);
        let a = first.token((1 << 56) | ((5 << 24) + 1)).expect("a token");
        let b = first.token((1 << 56) | ((5 << 24) + 2)).expect("a token");
        let next = epoch(1_800_000_001, 9 << 24);
        let c = next.token((2 << 56) | (9 << 24)).expect("a token");
        assert!(a < b && b < c, "{a} {b} {c}");
    }

    #[test]
    fn a_count_from_before_the_base_is_no_token() {
        assert!(epoch(7, 100).token(99).is_err());
    }

    #[test]
    fn tokens_end_where_the_number_range_does() {
        assert!(epoch(1 << 32, 0).token(1 << 55).is_err());
    }
}
