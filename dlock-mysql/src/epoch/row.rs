//! The row of `dlock_epoch`: what tokens are counted by, which start counts next, and the longest ttl in use.

use std::time::Duration;

use dlock_core::{BootInstant, Error, ErrorKind, Result, Token};

use crate::{
    config::TokenSource,
    sql::{
        row::{Row, number},
        server::ServerStart,
        tables::EPOCH,
    },
};

/// The time for which a connection may use an epoch that it has read. It is less than the least ttl, as a server
/// that takes over waits for it.
pub(crate) const FRESH: Duration = Duration::from_millis(500);

/// The number of `UUID_SHORT()` values that an epoch counts for. A server uses them up in milliseconds.
pub(crate) const SERIALS: u64 = 1 << 18;

/// The epoch counts from this bit of a token on. An epoch is about the time in seconds, so a token is about the time in
/// microseconds, as on Redis. Below it there is room for [`SERIALS`].
pub(crate) const EPOCH_SHIFT: u32 = 20;

/// An epoch that is so many seconds behind the server's clock is raised again.
const LAG_MAX: u64 = 30;

/// `UUID_SHORT()` without the server's id.
pub(crate) const SERIAL_MASK: u64 = (1 << 56) - 1;

/// The base of a start that commits its tokens: no count begins there.
pub(crate) const NO_BASE: u64 = SERIAL_MASK + 1;

/// Columns of the reply to [`select`].
const COLUMNS: usize = 9;

/// The epoch, as a connection has read it, and the longest ttl beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    /// The server start that counts tokens by it.
    pub(crate) start: ServerStart,
    base: u64,
    /// The longest ttl in use in this period, in seconds,
    pub(crate) ttl_max: u32,
    /// and in the period before.
    pub(crate) ttl_max_before: u32,
    pub(crate) period: u32,
    /// The second that the server's clock showed.
    pub(crate) second: u32,
    /// The send time of the query.
    pub(crate) read: Option<BootInstant>,
}

/// The server start that counts tokens next, after its restart guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextStart {
    pub(crate) start: ServerStart,
    /// The second, by the server's clock, in which its restart guard began.
    pub(crate) guarded_since: u64,
}

/// The query that reads the row.
pub(crate) fn select() -> String {
    format!(
        "SELECT epoch, boot, base, next_boot, guarded_since, ttl_max, ttl_max_before, period, \
         UNIX_TIMESTAMP() FROM {EPOCH} WHERE id = 1"
    )
}

/// Finds the row in a reply to several statements, one of which is [`select`].
pub(crate) fn find_row(rows: &[Row]) -> Option<&Row> {
    rows.iter().find(|row| row.len() == COLUMNS)
}

impl Epoch {
    /// Reads the row; the query was sent at `sent`.
    pub(crate) fn read(row: &Row, sent: BootInstant) -> Result<Self> {
        Ok(Self {
            number: number(row, 0)?,
            start: ServerStart(number(row, 1)?),
            base: number(row, 2)?,
            ttl_max: saturated(row, 5)?,
            ttl_max_before: saturated(row, 6)?,
            period: saturated(row, 7)?,
            second: saturated(row, 8)?,
            read: Some(sent),
        })
    }

    /// Reads the row from a reply to several statements, which were sent at `sent`.
    pub(crate) fn find(rows: &[Row], sent: BootInstant) -> Result<Option<Self>> {
        find_row(rows).map(|row| Self::read(row, sent)).transpose()
    }

    /// Whether a grant at `now` may use it.
    pub(crate) fn is_fresh(&self, now: BootInstant) -> bool {
        self.read.is_some_and(|read| now.since(read) < FRESH)
    }

    /// The longest ttl that a hold of an earlier start can have.
    pub(crate) fn longest_ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_max.max(self.ttl_max_before).into())
    }

    /// Whether no lock was ever granted under it.
    pub(crate) fn is_new(&self) -> bool {
        self.number == 0
    }

    /// Whether `start` counts its `tokens` by it.
    pub(crate) fn counts(&self, start: ServerStart, tokens: TokenSource) -> bool {
        self.start == start && (self.base != NO_BASE || tokens == TokenSource::Committed)
    }

    /// Whether the server's clock was far ahead of it when it was read.
    pub(crate) fn lags(&self) -> bool {
        u64::from(self.second) >= self.number.saturating_add(LAG_MAX)
    }

    /// The token of the grant with `serial`; `None` if the epoch is used up.
    ///
    /// A serial before the base was drawn before the row was raised, and counts as the base. The next serial
    /// for the same name is drawn after that, and so is greater than the base.
    pub(crate) fn token(&self, serial: u64) -> Result<Option<Token>> {
        let count = (serial & SERIAL_MASK).saturating_sub(self.base);
        if count >= SERIALS {
            return Ok(None);
        }
        let token = self.number.checked_mul(1 << EPOCH_SHIFT);
        let token = token.and_then(|first| first.checked_add(count));
        let token = token.filter(|token| *token <= Token::MAX);
        token.and_then(Token::new).map(Some).ok_or_else(|| {
            let why = format!("no token for {serial} in {self:?}");
            Error::new(ErrorKind::Internal, why)
        })
    }
}

impl NextStart {
    /// Reads the row.
    pub(crate) fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            start: ServerStart(number(row, 3)?),
            guarded_since: number(row, 4)?,
        })
    }

    /// The condition that the row is as it was read.
    pub(crate) fn unchanged(self, epoch: &Epoch) -> String {
        let (number, start, next) = (epoch.number, epoch.start.0, self.start.0);
        format!("id = 1 AND epoch = {number} AND boot = {start} AND next_boot = {next}")
    }
}

/// A number that is small, or else as good as the largest one.
fn saturated(row: &Row, column: usize) -> Result<u32> {
    Ok(u32::try_from(number(row, column)?).unwrap_or(u32::MAX))
}

/// The table has no row 1.
pub(crate) fn missing_row() -> Error {
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

    fn token(epoch: &Epoch, serial: u64) -> Token {
        epoch.token(serial).expect("a token").expect("not used up")
    }

    #[test]
    fn tokens_grow_with_the_count_and_with_the_epoch() {
        let first = epoch(1_800_000_000, 5 << 24);
        let a = token(&first, (1 << 56) | ((5 << 24) + 1));
        let b = token(&first, (1 << 56) | ((5 << 24) + 2));
        let next = epoch(1_800_000_001, 9 << 24);
        let c = token(&next, (2 << 56) | (9 << 24));
        let d = token(&next, (2 << 56) | ((9 << 24) + 1));
        assert!(a < b && b < c && c < d, "{a} {b} {c} {d}");
    }

    #[test]
    fn a_grant_from_before_the_raise_comes_first() {
        let raised = epoch(8, 100);
        assert_eq!(token(&raised, 99), token(&raised, 100));
        assert!(token(&raised, 99) < token(&raised, 101));
        assert!(token(&epoch(7, 0), SERIALS - 1) < token(&raised, 99));
    }

    #[test]
    fn an_epoch_is_used_up() {
        assert!(matches!(epoch(7, 100).token(99 + SERIALS), Ok(Some(_))));
        assert!(matches!(epoch(7, 100).token(100 + SERIALS), Ok(None)));
    }

    /// A migration adds that much to the tokens of the next store.
    #[test]
    fn tokens_are_below_2_to_the_53_until_the_year_2242() {
        const SECONDS_UNTIL_2242: u64 = 272 * 365 * 86_400;
        let last = token(&epoch(SECONDS_UNTIL_2242, 0), SERIALS - 1);
        assert!(last.get() < 1 << 53, "{last}");
    }

    #[test]
    fn tokens_end_where_the_number_range_does() {
        // Some 130,000 years from 1970.
        let last = Token::MAX >> EPOCH_SHIFT;
        assert!(epoch(last + 1, 0).token(1).is_err());
        assert!(epoch(last, 0).token(1).is_ok());
        assert!(epoch(u64::MAX, 0).token(1).is_err());
    }
}
