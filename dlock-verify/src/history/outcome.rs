//! The outcome of an acquire that returned no guard, as a history has it.

use dlock_core::{Effect, Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// The kind of the error of an acquire: [`ErrorKind`] as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalKind {
    /// Another holder has the lock.
    Contended,
    /// The store was not reachable, or did not answer in time.
    Unavailable,
    /// The store refused the request.
    Denied,
    /// The lock was held and is not held any more.
    Lost,
    /// Each other kind: bad input, a missing ability or a defect.
    Other,
}

/// The effect of an acquire without a guard: [`Effect`] as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalEffect {
    /// Nothing of the attempt is in the store.
    None,
    /// The attempt may have been granted in the store.
    Unknown,
}

impl From<&Error> for RefusalKind {
    fn from(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Contended => Self::Contended,
            ErrorKind::Unavailable => Self::Unavailable,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::Lost => Self::Lost,
            _ => Self::Other,
        }
    }
}

impl From<&Error> for RefusalEffect {
    fn from(error: &Error) -> Self {
        match error.effect() {
            Effect::None => Self::None,
            _ => Self::Unknown,
        }
    }
}
