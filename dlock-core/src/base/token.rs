//! Fencing tokens.

use std::{fmt, num::NonZeroU64};

/// A fencing token: of two grants of one name, the later one has the larger token (K5).
///
/// A resource that remembers the largest token it has seen and refuses smaller ones never accepts a
/// write of somebody who held the lock before. See Kleppmann, *How to do distributed locking*
/// (2016), and the sequencers of Chubby (OSDI 2006, §2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(NonZeroU64);

impl Token {
    /// The largest token that a backend may give: half of the number range is kept for a
    /// `token_base`.
    pub const MAX: u64 = u64::MAX / 2;

    /// The token `value`; `None` for zero, which no grant has.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The number to compare and to store.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// This token moved up by `base`; `None` past the number range.
    #[must_use]
    pub const fn with_base(self, base: u64) -> Option<Self> {
        match self.0.checked_add(base) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

impl From<NonZeroU64> for Token {
    fn from(value: NonZeroU64) -> Self {
        Self(value)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.0)
    }
}
