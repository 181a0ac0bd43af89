//! Violations of a history.

use std::fmt;

use super::grant::Grant;
use crate::history::{Access, Event};

/// One violation in a history; its text names the grants or the access to examine.
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
    /// An event that cannot be where it is: the recording is wrong, not the lock.
    Malformed {
        /// The event.
        event: Event,
    },
}

impl Violation {
    /// Whether only tokens that grow would have prevented it.
    #[must_use]
    pub fn needs_tokens(&self) -> bool {
        match self {
            Self::Tokens { .. } | Self::StaleAccess { .. } | Self::LostUpdate { .. } => true,
            Self::Overlap { .. } | Self::Malformed { .. } => false,
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
                write!(
                    f,
                    "tokens of {:?} do not grow: {first}, then {second}",
                    first.name
                )
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
            Self::Malformed { event } => write!(f, "the history makes no sense at {event:?}"),
        }
    }
}
