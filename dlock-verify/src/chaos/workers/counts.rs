//! Counts of what has happened to clients.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Counts of one worker, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Grants.
    pub grants: u64,
    /// Guards that were lost, also with their process.
    pub lost: u64,
    /// Acquires that failed because the store did not answer in time.
    pub unanswered: u64,
    /// Writes that the fenced register refused, because it had seen a larger token.
    pub stale: u64,
}

impl Counts {
    /// Losses, missing answers and refused writes: what faults do to clients.
    #[must_use]
    pub const fn harm(&self) -> u64 {
        self.lost + self.unanswered + self.stale
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            grants: self.grants + other.grants,
            lost: self.lost + other.lost,
            unanswered: self.unanswered + other.unanswered,
            stale: self.stale + other.stale,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            grants: self.grants - before.grants,
            lost: self.lost - before.lost,
            unanswered: self.unanswered - before.unanswered,
            stale: self.stale - before.stale,
        }
    }
}
