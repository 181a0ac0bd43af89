//! Tokens without a write for each grant.
//!
//! `UUID_SHORT()` counts up while a server runs, and is read by the statement that locks, after the
//! lock is granted: so the order of its values is the order of the grants. Over restarts and failovers
//! an *epoch* goes before it, one row that the first connection to each start of a server raises, once:
//!
//! `token = epoch · 2^31 + (UUID_SHORT − base)`
//!
//! * The epoch is at least the time in seconds, so a bump that a crash took back does no harm.
//! * It is raised again when it is half a minute old: a former primary that comes back by itself has token_of
//!   on, and the true one, which knows nothing of that, is ahead of it again soon. Others still use what they
//!   have read; so an epoch counts for [`SERIALS`] values only, and who raises it uses these up first.
//! * Two starts within one second would count alike, so none grants in its first two.
//! * Nobody raises it before the guard of a start is over ([`crate::guard::restart`]): so a row that names a start
//!   says that it grants, whatever the server's clock shows.
//! * A server that was demoted and promoted again without a restart has connections from before. So what
//!   was read counts for half a second, and is read again after the grant then; and who takes over
//!   from another server waits as long before it raises the epoch. Until then nobody there grants.
//!
//! What remains: the row is lost *and* the server's clock was set back.

use std::time::Duration;

use dlock_core::{BootInstant, Error, ErrorKind, Result, Token};

use crate::{
    config::Tokens,
    conn::{
        connection::{Connection, Row},
        control::ControlTurn,
        pool::Pool,
    },
    errors,
    guard::restart::{self, Next},
    keys::EPOCH,
    sql::server::{ServerInfo, ServerStart, number},
};

/// How long a server grants nothing after its start.
const UPTIME_SECONDS_MIN: u64 = 2;

/// How long what was read counts; less than the least ttl, as who takes over waits for it.
pub(crate) const FRESH: Duration = Duration::from_millis(500);

/// For how many values of `UUID_SHORT()` an epoch counts. A server uses them up in milliseconds.
const SERIALS: u64 = 1 << 18;

/// The epoch is raised again when it is so many seconds behind the server's clock.
const BEHIND_MAX: u64 = 30;

/// Two connections raise the epoch at once; the loser sees the winner's.
const TRIES_MAX: usize = 8;

/// `UUID_SHORT()` without the server's id.
const SERIAL_MASK: u64 = (1 << 56) - 1;

/// Stands as the base of a start that commits its tokens: no count begins there.
const NO_BASE: u64 = SERIAL_MASK + 1;

/// What tokens are token_of by, as a connection has read it, and what stands beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    pub(crate) boot: ServerStart,
    base: u64,
    /// The longest ttl in use in this period, in seconds,
    pub(crate) ttl_max: u32,
    /// and in the one before.
    pub(crate) ttl_max_before: u32,
    pub(crate) period: u32,
    /// The second that the server's clock showed.
    pub(crate) second: u32,
    /// When it was asked for.
    pub(crate) read: Option<BootInstant>,
}

/// Asks for the row.
pub(crate) fn ask() -> String {
    format!(
        "SELECT epoch, boot, base, next_boot, guarded_since, ttl_max, ttl_max_before, period, \
         UNIX_TIMESTAMP() FROM {EPOCH} WHERE id = 1"
    )
}

/// How many columns [`ask`] is answered.
const COLUMNS: usize = 9;

/// The row in an answer to more than [`ask`].
fn row_among(rows: &[Row]) -> Option<&Row> {
    rows.iter().find(|row| row.len() == COLUMNS)
}

/// A number that is small, or as good as the largest one.
fn small(row: &Row, column: usize) -> Result<u32> {
    Ok(u32::try_from(number(row, column)?).unwrap_or(u32::MAX))
}

impl Epoch {
    /// The row, asked for at `asked`.
    pub(crate) fn of(row: &Row, asked: BootInstant) -> Result<Self> {
        Ok(Self {
            number: number(row, 0)?,
            boot: ServerStart(number(row, 1)?),
            base: number(row, 2)?,
            ttl_max: small(row, 5)?,
            ttl_max_before: small(row, 6)?,
            period: small(row, 7)?,
            second: small(row, 8)?,
            read: Some(asked),
        })
    }

    /// Whether it was read so lately that a grant at `now` may use it.
    pub(crate) fn is_fresh(&self, now: BootInstant) -> bool {
        self.read.is_some_and(|read| now.since(read) < FRESH)
    }

    /// The row in an answer to more than [`ask`], which was asked at `asked`.
    pub(crate) fn among(rows: &[Row], asked: BootInstant) -> Result<Option<Self>> {
        row_among(rows).map(|row| Self::of(row, asked)).transpose()
    }

    /// The longest ttl that a hold of a start before this moment can have.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_secs(self.ttl_max.max(self.ttl_max_before).into())
    }

    /// Whether anybody was ever granted a lock under it.
    pub(crate) fn is_new(&self) -> bool {
        self.number == 0
    }

    /// Whether `tokens` of `boot` are token_of by it.
    fn counts(&self, boot: ServerStart, tokens: Tokens) -> bool {
        self.boot == boot && (self.base != NO_BASE || tokens == Tokens::Committed)
    }

    /// Whether the server's clock was far ahead of it when it was read.
    pub(crate) fn is_behind(&self) -> bool {
        u64::from(self.second) >= self.number.saturating_add(BEHIND_MAX)
    }

    /// The token of the grant that came with `serial`; `None` if the epoch is used up.
    ///
    /// The row was raised behind the grant if the value is from before the base. The next value for
    /// the same name is drawn after that, and so is greater than the base.
    pub(crate) fn token(&self, serial: u64) -> Result<Option<Token>> {
        let count = (serial & SERIAL_MASK).saturating_sub(self.base);
        if count >= SERIALS {
            return Ok(None);
        }
        let token = self.number.checked_mul(1 << 31);
        let token = token.and_then(|first| first.checked_add(count));
        let token = token.filter(|token| *token <= Token::MAX);
        token.and_then(Token::new).map(Some).ok_or_else(|| {
            let why = format!("no token for {serial} in {self:?}");
            Error::new(ErrorKind::Internal, why)
        })
    }
}

/// Refuses a server that has just been started.
pub(crate) fn check_age(start: &ServerInfo) -> Result<()> {
    if start.uptime < UPTIME_SECONDS_MIN {
        let why = "the server has just been started and grants no locks for two seconds";
        return Err(Error::new(ErrorKind::Unavailable, why));
    }
    Ok(())
}

/// The epoch of the server that `connection` leads to, which is no replica, raised if this start of it has
/// none yet and its guard is over. The connection commits by itself or not, either way nothing stays
/// open.
pub(crate) async fn of_server(
    session: &Pool,
    connection: &mut Connection,
    start: &ServerInfo,
) -> Result<Epoch> {
    let (clock, config) = (&session.connector.clock, session.config());
    let boot = start.server.boot;
    for _ in 0..TRIES_MAX {
        let asked = clock.now();
        let sql = format!("{}; COMMIT", ask());
        let rows = connection
            .query(clock, &sql, config.request_timeout)
            .await?;
        let row = row_among(&rows).ok_or_else(no_row)?;
        let (epoch, next) = (Epoch::of(row, asked)?, Next::of(row)?);
        if epoch.counts(boot, config.tokens) {
            return Ok(epoch);
        }
        if epoch.boot != boot && !epoch.is_new() {
            if restart::begins(session, connection, start, &epoch, next).await? {
                continue;
            }
            // Its connections may be alive, and this server demoted again before they read the row.
            if !epoch.boot.is_of_same_server(boot) {
                tokio::time::sleep(FRESH).await;
            }
        }
        let (unchanged, boot) = (next.is_unchanged(&epoch), boot.0);
        let base = match config.tokens {
            Tokens::Epoch => start.serial & SERIAL_MASK,
            Tokens::Committed => NO_BASE,
        };
        let raise = format!(
            "UPDATE {EPOCH} SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), boot = {boot}, base = \
             {base}, next_boot = 0 WHERE {unchanged}; COMMIT"
        );
        connection
            .query(clock, &raise, config.request_timeout)
            .await?;
    }
    let why = "dlock_epoch is changed again and again meanwhile; do two servers share the table?";
    Err(Error::new(ErrorKind::Unavailable, why))
}

/// Raises `epoch`, of which the values are used up or which is behind, while the server grants; unless somebody
/// else has done so, for whom it waits. What counts then.
pub(crate) async fn raise(session: &Pool, boot: ServerStart, epoch: &Epoch) -> Result<Epoch> {
    let (number, boot_number, ask) = (epoch.number, boot.0, ask());
    // Summands are evaluated in their order, while the row is locked, and only if it is unchanged.
    let sql = format!(
        "UPDATE {EPOCH} SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), base = (BENCHMARK({SERIALS}, \
         UUID_SHORT()) + UUID_SHORT()) & {SERIAL_MASK} WHERE id = 1 AND epoch = {number} AND boot = \
         {boot_number}; {ask}"
    );
    let epoch = ask_of(session, boot, sql).await?;
    if epoch.boot != boot {
        return Err(errors::session_moved());
    }
    Ok(epoch)
}

/// Sends `sql`, which ends with [`ask`], to `boot` on the connection that holds nothing.
pub(crate) async fn ask_of(session: &Pool, boot: ServerStart, sql: String) -> Result<Epoch> {
    let asked = session.connector.clock.now();
    let ask = move |mut turn: ControlTurn| async move {
        if turn.server().map(|server| server.boot) != Some(boot) {
            return Err(errors::session_moved());
        }
        turn.query(&sql).await
    };
    let rows = session.control()?.run(ask).await;
    // The lock is ours: what is taken is the row of the epoch, or its table.
    let rows = rows.map_err(errors::of_table_statement)?;
    let epoch = Epoch::among(&rows, asked)?.ok_or_else(no_row)?;
    session.epochs.learn(epoch);
    Ok(epoch)
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
    fn who_was_granted_before_the_epoch_was_raised_comes_first() {
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

    #[test]
    fn tokens_end_where_the_number_range_does() {
        assert!(epoch(1 << 32, 0).token(1).is_err());
        assert!(epoch(u64::MAX, 0).token(1).is_err());
    }
}
