//! The facts of a history that the checks need.

use std::collections::BTreeMap;

use super::attempt::{Grant, Ungranted};
use crate::history::{Access, Entry, Event, Name};

/// The facts of a history: attempts by name, and what happened to clients and store.
///
/// [`Reading`](super::Reading) makes it event by event, so the events themselves need not be in memory.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The attempts, by the name of their lock.
    pub names: BTreeMap<Name, Attempts>,
    /// The accesses to the fenced register, in the order in which it served them.
    pub fenced: Vec<Access>,
    /// The values that were written to the control register, in that order.
    pub control: Vec<(Name, u64)>,
    /// The faults, in the order of their begin.
    pub faults: Vec<Fault>,
    /// The times at which a client's process was stopped, by client.
    pub stops: BTreeMap<u32, Vec<Span>>,
    /// The times by which timers of a client were late, by client.
    pub lags: BTreeMap<u32, Vec<Span>>,
    /// The times at which a fault removed the entry of a lock, by name.
    pub destroyed: BTreeMap<Name, Vec<u64>>,
    /// The listings of the store, with their times.
    pub listings: Vec<(u64, Vec<Entry>)>,
    /// The events that cannot be where they are.
    pub malformed: Vec<Event>,
    /// The number of events.
    pub event_count: usize,
    /// The time of the first event.
    pub begins: u64,
    /// The time of the last event.
    pub ends: u64,
}

/// The attempts for one lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempts {
    /// The granted ones, in the order of their start.
    pub grants: Vec<Grant>,
    /// The others, in the order of their request.
    pub ungranted: Vec<Ungranted>,
}

/// A fault of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The number in the plan.
    pub id: u32,
    /// The kind.
    pub kind: Name,
    /// Where it is.
    pub target: Name,
    /// When it is on.
    pub span: Span,
}

/// A time between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "its two ends are all of it")]
pub struct Span {
    /// The begin.
    pub from: u64,
    /// The end; [`NEVER`](super::NEVER) if the history does not have it.
    pub to: u64,
}

impl Facts {
    /// All grants.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.names.values().flat_map(|attempts| &attempts.grants)
    }

    /// The number of grants.
    #[must_use]
    pub fn grant_count(&self) -> usize {
        self.names.values().map(|name| name.grants.len()).sum()
    }
}

impl Span {
    /// Whether the two have a moment in common; their ends belong to them.
    #[must_use]
    pub const fn touches(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}
