//! The attempts of a history.

use std::fmt;

use crate::history::{Name, RefusalEffect, RefusalKind};

/// Later than every event: the time of what did not happen.
pub const NEVER: u64 = u64::MAX;

/// One acquire that succeeded. Times are nanoseconds on the boot-time clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// The lock.
    pub name: Name,
    /// The client that holds it.
    pub client: u32,
    /// Which of the client's lockers it is of: each has a number, from 0.
    pub locker: u16,
    /// The number of the attempt among those of its client.
    pub op: u64,
    /// Whether others may hold it too.
    pub shared: bool,
    /// The time at which the acquire was called.
    pub requested: u64,
    /// The time at which it returned: the start of the interval in which the guard calls itself held.
    pub from: u64,
    /// The token.
    pub token: u64,
    /// The deadline that the guard reported last; [`NEVER`] without one.
    pub until: u64,
    /// The last time at which the guard said that it was held.
    pub claimed: u64,
    /// The time at which the guard reported its loss, or [`NEVER`].
    pub lost: u64,
    /// The time at which the release was called or the process was killed, or [`NEVER`].
    pub quit: u64,
    /// The time at which the release was confirmed, or [`NEVER`].
    pub released: u64,
    /// How often a task recorded the deadline, and awaited the loss; [`NEVER`] without such a task.
    pub watched_every: u64,
}

/// One acquire that returned no guard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ungranted {
    /// The client.
    pub client: u32,
    /// The number of the attempt among those of its client.
    pub op: u64,
    /// Whether it would have waited if the lock was taken.
    pub waits: bool,
    /// The time at which the acquire was called.
    pub requested: u64,
    /// The time at which it ended; the end of the history if it did not end.
    pub ended: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// How an acquire without a guard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The acquire returned an error.
    Refused(RefusalKind, RefusalEffect),
    /// The caller dropped the acquire.
    Cancelled,
    /// The process was killed.
    Killed,
    /// The acquire had not returned when the history ended.
    Open,
}

impl Grant {
    /// The end of the interval in which the guard calls itself held: the first of the release, the last reported
    /// deadline, the loss and the death of the process.
    #[must_use]
    pub fn to(&self) -> u64 {
        self.until.min(self.lost).min(self.quit)
    }

    /// Whether the guard called itself held at any time.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.from < self.to()
    }

    /// Whether both are held at the same time, although they exclude each other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !(self.shared && other.shared) && self.from < other.to() && other.from < self.to()
    }
}

impl Ungranted {
    /// Whether the store has answered that another holder has the lock.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.outcome == Outcome::Refused(RefusalKind::Contended, RefusalEffect::None)
    }

    /// Whether something of the attempt may be in the store after its end. A wait that ends as contended is
    /// taken back in the background.
    #[must_use]
    pub fn may_leave(&self) -> bool {
        match self.outcome {
            Outcome::Refused(RefusalKind::Contended, RefusalEffect::None) => self.waits,
            Outcome::Refused(_, effect) => effect != RefusalEffect::None,
            Outcome::Cancelled | Outcome::Killed | Outcome::Open => true,
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            op,
            requested,
            from,
            token,
            ..
        } = self;
        let mode = if self.shared { "shared" } else { "exclusive" };
        write!(f, "client {client} attempt {op} ({mode}, token {token}, ")?;
        write!(
            f,
            "requested {}, held {} to {})",
            Seconds(*requested),
            Seconds(*from),
            Seconds(self.to())
        )
    }
}

impl fmt::Display for Ungranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            op,
            requested,
            ended,
            outcome,
            ..
        } = self;
        write!(
            f,
            "client {client} attempt {op} (requested {}, {outcome} {})",
            Seconds(*requested),
            Seconds(*ended)
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused(RefusalKind::Contended, _) => "refused as contended",
            Self::Refused(..) => "failed",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
            Self::Open => "still open",
        })
    }
}

/// Nanoseconds, printed as seconds.
pub(super) struct Seconds(pub(super) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == NEVER {
            return f.write_str("its end");
        }
        write!(
            f,
            "{}.{:06} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000 / 1_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Access;

    #[test]
    fn a_million_attempts_fit_in_memory() {
        let sizes = [
            size_of::<Grant>(),
            size_of::<Ungranted>(),
            size_of::<Access>(),
        ];
        assert_eq!(sizes, [96, 32, 40]);
    }
}
