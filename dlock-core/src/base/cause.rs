//! Why a hold ended against its holder's will.

use std::fmt;

/// Why a lock was lost (K8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum LostCause {
    /// Its deadline passed before a renewal was confirmed.
    Expired = 0,
    /// The store says that somebody else holds it.
    Taken = 1,
    /// The store has no entry of ours any more: deleted, evicted, or forgotten by a restart.
    Removed = 2,
    /// The session or connection that carried it is over.
    SessionEnded = 3,
    /// The server may no longer grant locks: it was demoted or made read-only.
    Demoted = 4,
    /// The locker was shut down while it was held.
    Closed = 5,
}

impl LostCause {
    /// All causes; the index of each is its number.
    const ALL: [Self; 6] = [
        Self::Expired,
        Self::Taken,
        Self::Removed,
        Self::SessionEnded,
        Self::Demoted,
        Self::Closed,
    ];

    /// The cause with this number, if there is one.
    pub(crate) fn from_index(index: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// In the words of an error message.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "it expired before a renewal was confirmed",
            Self::Taken => "somebody else holds it",
            Self::Removed => "its entry is gone from the store",
            Self::SessionEnded => "the session that carried it is over",
            Self::Demoted => "the server no longer grants locks",
            Self::Closed => "the locker was shut down",
        }
    }
}

impl fmt::Display for LostCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
