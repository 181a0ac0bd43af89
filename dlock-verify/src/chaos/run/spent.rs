//! Where the time of a run goes.

use std::{collections::BTreeMap, time::Duration};

use dlock_core::{BootInstant, Clock};

/// A phase that a run waits for. It plays one card after the other, so its times add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Grants that a card comes after.
    Grants,
    /// Triggers.
    Triggers,
    /// Faults that must be undone first.
    Faults,
    /// The effects of a fault, which are counted for 2 ttl after it.
    Effects,
    /// Pauses in which a witness takes every name.
    Settling,
}

/// Adds up the time of each phase.
#[derive(Debug)]
pub(super) struct Stopwatch {
    clock: Clock,
    begin: BootInstant,
    spent: BTreeMap<Phase, Duration>,
}

impl Stopwatch {
    pub(super) fn start(clock: Clock) -> Self {
        Self {
            begin: clock.now(),
            clock,
            spent: BTreeMap::new(),
        }
    }

    /// The time since the last call was spent on `phase`.
    pub(super) fn spent_on(&mut self, phase: Phase) {
        let now = self.clock.now();
        *self.spent.entry(phase).or_default() += now.since(self.begin);
        self.begin = now;
    }

    pub(super) fn spent(&self) -> BTreeMap<Phase, Duration> {
        self.spent.clone()
    }
}
