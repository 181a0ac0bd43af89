//! The bounds that a run is judged by.

use std::time::Duration;

use crate::history::{Header, RecordedCapabilities};

/// The bounds and properties of the store of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// The longest ttl of the run's locks.
    pub ttl: Duration,
    /// How long after a holder's death its lock is granted, beyond what is left of the ttl (K6).
    pub takeover_max: Duration,
    /// How long after a fault the store may grant nothing: an election, or a restart guard.
    pub recovery_max: Duration,
    /// How long after the removal of a lock's entry the holder may learn of it (K8).
    pub removal_reported_max: Duration,
    /// Whether tokens grow.
    pub fencing: bool,
    /// Whether holds end by time.
    pub ends_by_time: bool,
    /// Whether tries of several clients at one moment may all be refused, each by the others: as in a quorum (K6).
    pub tries_collide: bool,
}

impl Bounds {
    /// The bounds by a history's header. A removal is reported within a ttl, and a store grants again within a ttl
    /// and `takeover_max` of a fault; set what is known better.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        Self::new(header.ttl, &header.capabilities)
    }

    /// As [`of`](Self::of), for a run that is not written.
    #[must_use]
    pub fn new(ttl: Duration, capabilities: &RecordedCapabilities) -> Self {
        Self {
            ttl,
            takeover_max: capabilities.takeover_max,
            recovery_max: ttl.saturating_add(capabilities.takeover_max),
            removal_reported_max: ttl,
            fencing: capabilities.fencing,
            ends_by_time: capabilities.ends_by_time,
            tries_collide: false,
        }
    }

    /// How long an entry outlives the last request of its attempt, in nanoseconds.
    pub(super) fn entry_max(&self) -> u64 {
        nanos(self.ttl).saturating_add(nanos(self.takeover_max))
    }
}

/// Nanoseconds of `duration`, 584 years at most.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
