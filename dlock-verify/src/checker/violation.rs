//! Violations of a history.

use std::fmt;

use super::{
    attempt::{Grant, NEVER, Seconds, Ungranted},
    facts::Span,
    kind::Check,
};
use crate::history::{Access, Entry, Event, Name};

/// One violation in a history; its text names the attempts, the access or the entry to examine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// Two grants that exclude each other are held at the same time (C1).
    Overlap {
        /// The one that started first.
        first: Grant,
        /// The one that started while it was held.
        second: Grant,
    },
    /// A later grant has no larger token (C2).
    Tokens {
        /// The earlier one.
        first: Grant,
        /// The later one.
        second: Grant,
    },
    /// A register accepted a token although it had seen a larger one (C3).
    StaleAccess {
        /// The accepted access.
        access: Access,
        /// The largest token that it had seen.
        token_max: u64,
    },
    /// A register accepted a write that undid another one (C3).
    LostUpdate {
        /// The write.
        access: Access,
        /// The value that it overwrote.
        value: u64,
    },
    /// A waiter was not granted a lock that was free (C6).
    Starved {
        /// The waiter.
        waiter: Waiter,
        /// The time in which the lock was free.
        free: Span,
    },
    /// A lock was refused as contended although it was free (C6b).
    FalselyContended {
        /// The lock.
        name: Name,
        /// The attempt that was refused.
        refused: Ungranted,
        /// The grant before it.
        before: Option<Grant>,
    },
    /// An entry was left in the store (C7).
    Residue {
        /// The time of the listing.
        at: u64,
        /// The entry.
        entry: Entry,
    },
    /// A guard did not report its loss in time (C8).
    LateLoss {
        /// The grant.
        grant: Grant,
        /// When the loss was due.
        due: u64,
    },
    /// An entry belongs to an attempt whose error said that nothing is left (C9).
    Effect {
        /// The time of the listing.
        at: u64,
        /// The entry.
        entry: Entry,
        /// The attempt.
        attempt: Ungranted,
    },
    /// An event that cannot be where it is: the recording is wrong, not the lock (C0).
    Malformed {
        /// The event.
        event: Event,
    },
}

/// An acquire while it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// The lock.
    pub name: Name,
    /// The client.
    pub client: u32,
    /// The number of the attempt among those of its client.
    pub op: u64,
    /// The time of its request.
    pub requested: u64,
    /// The time of its grant, or of its end without one.
    pub ended: u64,
}

impl Violation {
    /// The check that finds it.
    #[must_use]
    pub const fn check(&self) -> Check {
        match self {
            Self::Overlap { .. } => Check::Exclusion,
            Self::Tokens { .. } => Check::Order,
            Self::StaleAccess { .. } | Self::LostUpdate { .. } => Check::Register,
            Self::Starved { .. } => Check::Liveness,
            Self::FalselyContended { .. } => Check::Contention,
            Self::Residue { .. } => Check::Residue,
            Self::LateLoss { .. } => Check::Loss,
            Self::Effect { .. } => Check::Effect,
            Self::Malformed { .. } => Check::History,
        }
    }

    /// The lock that it is about, if it is about one.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Overlap { first, .. } | Self::Tokens { first, .. } => Some(&first.name),
            Self::StaleAccess { access, .. } | Self::LostUpdate { access, .. } => {
                Some(&access.name)
            }
            Self::Starved { waiter, .. } => Some(&waiter.name),
            Self::FalselyContended { name, .. } => Some(name),
            Self::Residue { entry, .. } | Self::Effect { entry, .. } => Some(&entry.name),
            Self::LateLoss { grant, .. } => Some(&grant.name),
            Self::Malformed { .. } => None,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap { first, second } => {
                write!(f, "{:?} was held twice: {first} and {second}", first.name)
            }
            Self::Tokens { first, second } => {
                let name = &first.name;
                write!(f, "tokens of {name:?} do not grow: {first}, then {second}")
            }
            Self::StaleAccess { access, token_max } => {
                let Access { name, token, .. } = access;
                write!(
                    f,
                    "register {name:?} accepted token {token} after {token_max}"
                )
            }
            Self::LostUpdate { access, value } => {
                let Access {
                    name, token, wrote, ..
                } = access;
                let wrote = wrote.unwrap_or_default();
                write!(
                    f,
                    "register {name:?} lost an update: {wrote} over {value}, token {token}"
                )
            }
            Self::Starved { waiter, free } => waiter.fmt_starved(f, *free),
            Self::FalselyContended { name, refused, .. } => {
                write!(f, "{name:?} was free, and {refused}")
            }
            Self::Residue { at, entry } => {
                let (name, what, at) = (&entry.name, &entry.what, Seconds(*at));
                write!(f, "{name:?} was free, and {what} was in the store at {at}")
            }
            Self::LateLoss { grant, due } => {
                let (name, due) = (&grant.name, Seconds(*due));
                write!(f, "the loss of {name:?} was due at {due}, and ")?;
                match grant.lost {
                    NEVER => write!(f, "not reported: {grant}"),
                    lost => write!(f, "reported at {}: {grant}", Seconds(lost)),
                }
            }
            Self::Effect { at, entry, attempt } => {
                let (name, what, at) = (&entry.name, &entry.what, Seconds(*at));
                write!(
                    f,
                    "{name:?} has {what} in the store at {at}, of {attempt}, which left nothing"
                )
            }
            Self::Malformed { event } => write!(f, "the history makes no sense at {event:?}"),
        }
    }
}

impl Waiter {
    fn fmt_starved(&self, f: &mut fmt::Formatter<'_>, free: Span) -> fmt::Result {
        let Self {
            name,
            client,
            op,
            requested,
            ended,
        } = self;
        write!(
            f,
            "{name:?} was free from {} to {}, and client {client} attempt {op} waited from {} to {}",
            Seconds(free.from),
            Seconds(free.to),
            Seconds(*requested),
            Seconds(*ended)
        )
    }
}
