//! The longest ttl in use: what a server has to wait for after its start ([`crate::guard::restart`]).
//!
//! It stands beside the epoch. Before the first grant with a longer one it is written there; grants that
//! follow read it with the epoch, and cost nothing more. It is lowered in two steps, as nobody knows who else
//! uses what: a *period* ends, the longest ttl of which counts for one more; who uses a longer one than
//! the new period shows writes it again. So a ttl is forgotten when nobody has used it for a whole period.
//!
//! A period is over for a locker that has seen it for [`PERIOD_TTLS`] of its longest ttl, by its own clock.
//! Whoever grants or renews by ttl `t` has read the row of the period at most [`READ_TENTHS`] of `t`
//! before: so the period after it lasts longer than any hold of this one.

use std::{sync::Arc, time::Duration};

use dlock_core::{BootInstant, Error, ErrorKind, Result};

use crate::{
    conn::pool::Pool,
    errors,
    hold::Hold,
    keys::EPOCH,
    sql::server::ServerStart,
    token::epoch::{self, Epoch},
};

/// How many times its longest ttl a period lasts at least.
const PERIOD_TTLS: u32 = 4;

/// For so many tenths of its ttl a hold is renewed by a row that was read before: a server may be busy,
const READ_TENTHS: u32 = 29;

/// and after so many the row is read again.
const READ_AGAIN_TENTHS: u32 = 3;

/// What is seen of a period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    number: u32,
    since: BootInstant,
}

impl Period {
    /// What is known after `epoch` was read, and before it `seen`.
    pub(crate) fn after(seen: Option<Self>, epoch: &Epoch, now: BootInstant) -> Self {
        seen.filter(|seen| seen.number == epoch.period)
            .unwrap_or(Self {
                number: epoch.period,
                since: now,
            })
    }

    fn is_over(&self, longest: Duration, now: BootInstant) -> bool {
        now.since(self.since) > longest.saturating_mul(PERIOD_TTLS)
    }
}

/// Lets `epoch`, which the connection to `boot` has read, say that a ttl of so many seconds is in use, or
/// that a longer one is not any more. Asks the server only if it does not say so.
pub(crate) async fn cover(
    session: &Pool,
    boot: ServerStart,
    epoch: &mut Epoch,
    seconds: u64,
) -> Result<()> {
    if u64::from(epoch.ttl_max) < seconds {
        session.epochs.tell(epoch, boot);
    }
    if u64::from(epoch.ttl_max) < seconds {
        *epoch = epoch::ask_of(session, boot, grow(seconds)).await?;
    } else if epoch.longest() > Duration::from_secs(seconds) {
        let now = session.connector.clock.now();
        let period = session.epochs.period(epoch, now);
        if period.is_over(epoch.longest(), now) {
            *epoch = epoch::ask_of(session, boot, lower(epoch, seconds)).await?;
        }
    }
    Ok(())
}

fn grow(seconds: u64) -> String {
    let ask = epoch::ask();
    format!("UPDATE {EPOCH} SET ttl_max = {seconds} WHERE id = 1 AND ttl_max < {seconds}; {ask}")
}

fn lower(epoch: &Epoch, seconds: u64) -> String {
    let (period, longest, ask) = (epoch.period, epoch.longest().as_secs(), epoch::ask());
    format!(
        "UPDATE {EPOCH} SET ttl_max_before = ttl_max, ttl_max = {seconds}, period = period + 1 WHERE id = 1 \
         AND period = {period} AND GREATEST(ttl_max, ttl_max_before) = {longest}; {ask}"
    )
}

/// Whether a hold may be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    Yes,
    /// It may, and the row has to be read again.
    Soon,
    No,
}

impl Coverage {
    /// What the row that was read last says of a hold of `ttl` on `boot`.
    pub(crate) fn by(epoch: &Epoch, boot: ServerStart, ttl: Duration, now: BootInstant) -> Self {
        let is_said = epoch.boot == boot && Duration::from_secs(epoch.ttl_max.into()) >= ttl;
        let age = epoch.read.filter(|_| is_said).map(|read| now.since(read));
        match age {
            Some(age) if age <= ttl / 10 * READ_AGAIN_TENTHS => Self::Yes,
            Some(age) if age <= ttl / 10 * READ_TENTHS => Self::Soon,
            _ => Self::No,
        }
    }
}

/// Lets the row say that `ttl` is still in use where `held` is, for a renewal. It waits for the server only if
/// the row was not read for nearly three ttls.
pub(crate) async fn keep(session: &Arc<Pool>, held: &Arc<Hold>, ttl: Duration) -> Result<()> {
    let covers = || session.epochs.covers(held.server.boot, ttl, now(session));
    match covers() {
        Coverage::Yes => Ok(()),
        Coverage::Soon => {
            let (session, held) = (session.clone(), held.clone());
            tokio::spawn(async move {
                if let Err(error) = look(&session, &held, ttl).await {
                    tracing::debug!(%error, "the longest ttl in use could not be read");
                }
            });
            Ok(())
        }
        Coverage::No => {
            look(session, held, ttl).await?;
            match covers() {
                Coverage::No => Err(not_written()),
                Coverage::Yes | Coverage::Soon => Ok(()),
            }
        }
    }
}

/// Reads the row, and writes `ttl` there if it does not say it.
async fn look(session: &Arc<Pool>, held: &Arc<Hold>, ttl: Duration) -> Result<()> {
    match read(session, held.server.boot, ttl).await {
        // Who keeps the table to himself keeps it also from those who would lower what it says.
        Err(error) if errors::is_table_locked(&error) => {
            session.epochs.is_kept(now(session));
            Ok(())
        }
        // The connection that works with the tables is gone, and perhaps there is room for no other.
        Err(_) => held.reads(session).await,
        Ok(()) => Ok(()),
    }
}

fn not_written() -> Error {
    let why =
        "the ttl of this lock could not be written down, for which a restarted server has to wait";
    Error::new(ErrorKind::Unavailable, why)
}

fn now(session: &Pool) -> BootInstant {
    session.connector.clock.now()
}

async fn read(session: &Pool, boot: ServerStart, ttl: Duration) -> Result<()> {
    let mut epoch = epoch::ask_of(session, boot, epoch::ask()).await?;
    if epoch.boot != boot {
        return Err(errors::session_moved());
    }
    cover(session, boot, &mut epoch, whole_seconds(ttl)).await
}

/// Whole seconds, and never less than the ttl.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);
    const HERE: ServerStart = ServerStart(7);

    fn at(second: u64) -> BootInstant {
        BootInstant::from_nanos(1).after(Duration::from_secs(second))
    }

    fn epoch(ttl_max: u64, period: u64) -> Epoch {
        let row = [1, HERE.0, 0, 0, 0, ttl_max, 0, period, 0];
        let row = row.map(|number| Some(number.to_string()));
        Epoch::of(&row.to_vec(), at(0)).expect("an epoch")
    }

    #[test]
    fn a_hold_is_renewed_by_what_was_read_lately() {
        let by = |second| Coverage::by(&epoch(10, 0), HERE, TTL, at(second));
        assert_eq!(by(3), Coverage::Yes);
        assert_eq!(by(4), Coverage::Soon);
        assert_eq!(by(29), Coverage::Soon);
        assert_eq!(by(30), Coverage::No);
        let of_shorter = Coverage::by(&epoch(9, 0), HERE, TTL, at(0));
        assert_eq!(of_shorter, Coverage::No);
        let elsewhere = Coverage::by(&epoch(10, 0), ServerStart(8), TTL, at(0));
        assert_eq!(elsewhere, Coverage::No);
    }

    #[test]
    fn a_period_outlasts_what_is_held_by_the_one_before() {
        let seen = Period::after(None, &epoch(10, 1), at(5));
        let seen = Period::after(Some(seen), &epoch(10, 1), at(9));
        assert!(!seen.is_over(TTL, at(45)));
        assert!(seen.is_over(TTL, at(46)));
        let next = Period::after(Some(seen), &epoch(10, 2), at(46));
        assert!(!next.is_over(TTL, at(47)));
        let hold_max = TTL + TTL / 10 * READ_TENTHS;
        assert!(TTL * PERIOD_TTLS > hold_max + hold_max / 100);
    }
}
