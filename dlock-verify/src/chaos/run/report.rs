//! The report of a run.

use std::{collections::BTreeMap, time::Duration};

use dlock_core::Capabilities;

use super::{
    bites::{Bites, Struck},
    scene::Scene,
    settle::Settled,
    spent::Phase,
};
use crate::{
    chaos::{plan::Card, workers::Counts},
    checker::Bounds,
    history::{Event, RecordedCapabilities},
};

/// The report of a run, still to be [judged](super::super::judge).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// Why the run could not go on, if it could not.
    pub failed: Option<String>,
    /// Whether its time was over before all cards were played.
    pub cut_short: bool,
    /// The cards that were played beside those of the plan: their faults had not bitten.
    pub again: Vec<Card>,
    /// The promises of the store.
    pub store: Capabilities,
    /// The bounds to judge by.
    pub bounds: Bounds,
    /// The history.
    pub events: Vec<Event>,
    /// The counts of all clients.
    pub counts: Counts,
    /// The bites of each fault that struck.
    pub bites: BTreeMap<String, Bites>,
    /// All strikes.
    pub struck: Vec<Struck>,
    /// The times at which the clients had nothing to do.
    pub settled: Vec<Settled>,
    /// Errors of acquires that no fault explains.
    pub unexpected: Vec<String>,
    /// Where the time of the run went.
    pub spent: BTreeMap<Phase, Duration>,
}

impl RunReport {
    /// The resources after the first tenth of the grants, and at the end.
    #[must_use]
    pub fn tenth_and_end(&self) -> Option<(&Settled, &Settled)> {
        let tenth = self.counts.grants / 10;
        let is_later = |settled: &&Settled| settled.grants >= tenth;
        let mut later = self.settled.iter().filter(is_later);
        Some((later.next()?, later.next_back()?))
    }
}

impl Scene {
    pub(super) fn report(&self, settled: &[Settled]) -> RunReport {
        RunReport {
            failed: None,
            cut_short: false,
            again: Vec::new(),
            store: self.witness.capabilities(),
            bounds: self.bounds(),
            events: self.observer.events(),
            counts: self.observer.counts(),
            bites: self.ledger.bites(),
            struck: self.ledger.struck(),
            settled: settled.to_vec(),
            unexpected: self.observer.unexpected(),
            spent: BTreeMap::new(),
        }
    }
}

impl Scene {
    /// The bounds of the store, with what the target knows better.
    pub(super) fn bounds(&self) -> Bounds {
        let capabilities = RecordedCapabilities::from(&self.witness.capabilities());
        let mut bounds = Bounds::new(self.target.ttl(), &capabilities);
        bounds.recovery_max = bounds.recovery_max.saturating_add(self.target.heal_max());
        bounds.tries_collide = self.target.tries_collide();
        bounds
    }
}

#[cfg(test)]
impl RunReport {
    /// A run on memory in which nothing happened.
    pub(in crate::chaos) fn empty() -> Self {
        use dlock_core::backend::DistributedLock as _;
        let store = dlock_core::memory::Memory::new().capabilities();
        let ttl = Duration::from_secs(1);
        let mut bounds = Bounds::new(ttl, &RecordedCapabilities::from(&store));
        bounds.ends_by_time = true;
        Self {
            failed: None,
            cut_short: false,
            again: Vec::new(),
            store,
            bounds,
            events: Vec::new(),
            counts: Counts::default(),
            bites: BTreeMap::new(),
            struck: Vec::new(),
            settled: Vec::new(),
            unexpected: Vec::new(),
            spent: BTreeMap::new(),
        }
    }
}
