//! The causes of a loss.

use std::fmt;

/// The cause of a lost lock (K8).
///
/// ```
/// use dlock_core::LostCause;
///
/// fn log_loss(cause: LostCause) {
///     match cause {
///         LostCause::Closed => println!("this process shuts down"),
///         LostCause::Expired => println!("the store did not answer in time"),
///         cause => println!("check the store: {cause}"),
///     }
/// }
/// # log_loss(LostCause::Removed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum LostCause {
    /// The deadline passed before a renewal was confirmed.
    Expired = 0,
    /// The store reports another holder.
    Taken = 1,
    /// The lock's entry is gone from the store: deleted, evicted, or forgotten by a restart.
    Removed = 2,
    /// The session or connection that kept the lock alive has ended.
    SessionEnded = 3,
    /// The server may no longer grant locks: it was demoted or made read-only.
    Demoted = 4,
    /// The locker was shut down while the lock was held.
    Closed = 5,
    /// The locks of the store have moved to another one ([`Migration`](crate::backend::Migration)).
    Moved = 6,
}

impl LostCause {
    /// All causes; the index of each is its number.
    const ALL: [Self; 7] = [
        Self::Expired,
        Self::Taken,
        Self::Removed,
        Self::SessionEnded,
        Self::Demoted,
        Self::Closed,
        Self::Moved,
    ];

    /// The cause with this number, if there is one.
    pub(crate) fn from_index(index: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// The text of an error message about this cause.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "it expired before a renewal was confirmed",
            Self::Taken => "another holder has it",
            Self::Removed => "its entry is gone from the store",
            Self::SessionEnded => "its session with the store has ended",
            Self::Demoted => "the server no longer grants locks",
            Self::Closed => "the locker was shut down",
            Self::Moved => "the locks of the store have moved to another one",
        }
    }
}

impl fmt::Display for LostCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
