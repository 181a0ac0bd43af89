//! When faults struck, and how often they bit.

use std::collections::BTreeMap;

use dlock_core::toolkit::Lock;
use serde::{Deserialize, Serialize};

use crate::chaos::workers::Counts;

/// One fault that struck. Times are nanoseconds on the boot-time clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Struck {
    /// The number of its card.
    pub card: u32,
    /// The fault's name.
    pub fault: String,
    /// The worker that its trigger happened to.
    pub worker: usize,
    /// When it began.
    pub begin: u64,
    /// When it was undone.
    pub end: u64,
}

#[cfg(test)]
impl Struck {
    pub(in crate::chaos) fn new(card: u32, fault: &str, begin: u64, end: u64) -> Self {
        Self {
            card,
            fault: fault.to_owned(),
            worker: 0,
            begin,
            end,
        }
    }
}

/// The effects of all strikes of one fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bites {
    /// How often it struck.
    pub strikes: u64,
    /// The harm to the clients that it could reach, from its begin until 2 ttl after its end.
    pub counts: Counts,
    /// Connections that all workers made in this time.
    pub connections: u64,
    /// Evidence of the fault's own, such as bytes that it held back.
    pub own: u64,
    /// How often it bit: the harm to clients, and its own evidence.
    pub bites: u64,
}

impl Bites {
    /// Adds the strikes of another part.
    pub fn add(&mut self, other: &Self) {
        self.strikes += other.strikes;
        self.counts = self.counts + other.counts;
        self.connections += other.connections;
        self.own += other.own;
        self.bites += other.bites;
    }
}

/// The books of a run's faults.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    struck: Lock<Vec<Struck>>,
    bites: Lock<BTreeMap<String, Bites>>,
}

impl Ledger {
    pub(super) fn strike(&self, struck: Struck) {
        self.struck.lock().push(struck);
    }

    pub(super) fn add(&self, fault: &str, bites: &Bites) {
        let mut all = self.bites.lock();
        all.entry(fault.to_owned()).or_default().add(bites);
    }

    pub(super) fn bites(&self) -> BTreeMap<String, Bites> {
        self.bites.lock().clone()
    }

    pub(super) fn struck(&self) -> Vec<Struck> {
        self.struck.lock().clone()
    }
}
