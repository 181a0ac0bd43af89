//! The records of the rounds, side by side.

use crate::{
    data::{Exchange, HandOver, Interval, OneShot, Side, SideKey, Slice, Workload},
    rounds::{HALF_WIDTH_MAX, Record, Rounds},
    stats::Bootstrap,
};

/// How many exchanges with the server a cycle of dlock takes, one after the other: one acquires, one releases.
pub(super) const EXCHANGES_OF_CYCLE: f64 = 2.0;

/// The records of the rounds, and how their intervals are drawn.
pub(crate) struct Summary<'a> {
    pub(crate) rounds: &'a Rounds,
    pub(crate) bootstrap: Bootstrap,
    /// The cores of this machine.
    pub(crate) cores: u32,
}

impl Summary<'_> {
    /// The record of a side; `None` if it did not run.
    pub(super) fn record(
        &self,
        store: u32,
        workload: Workload,
        tasks: u32,
        side: Side,
    ) -> Option<&Record> {
        let key = SideKey {
            store,
            workload,
            tasks,
            side,
        };
        let mut entrants = self.rounds.entrants.iter();
        let found = entrants.find(|entrant| entrant.key == key)?;
        (!found.record.slices.is_empty()).then_some(&found.record)
    }

    /// The numbers of tasks of a workload of a store.
    pub(super) fn tasks(&self, store: u32, workload: Workload) -> Vec<u32> {
        let keys = self.rounds.entrants.iter().map(|entrant| entrant.key);
        let cycles = keys.filter(|key| key.workload == workload && key.store == store);
        let mut tasks: Vec<u32> = cycles.map(|key| key.tasks).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// The exchange with the server, whose unit is given.
    pub(crate) fn exchange(&self, store: u32, unit: &str) -> Option<Exchange> {
        let record = self.record(store, Workload::Exchange, 1, Side::Floor)?;
        Some(Exchange {
            unit: unit.to_owned(),
            for_each_cycle: EXCHANGES_OF_CYCLE,
            latency: record.durations.latency()?,
        })
    }

    pub(crate) fn hand_over(&self, store: u32) -> Option<HandOver> {
        let record = self.record(store, Workload::HandOver, 2, Side::Dlock)?;
        let exchange = self.record(store, Workload::HandOver, 1, Side::Floor);
        let exchanges = exchange.and_then(|exchange| {
            let pairs = record.slices.iter().zip(&exchange.slices);
            let ratios =
                pairs.filter_map(|(one, other)| quotient(median_of(one), median_of(other)));
            self.bootstrap.median(&ratios.collect::<Vec<_>>())
        });
        Some(HandOver {
            latency: record.durations.latency()?,
            median_ns: self.median_ns(record)?,
            exchanges,
        })
    }

    pub(crate) fn one_shot(&self, store: u32) -> Option<OneShot> {
        let record = self.record(store, Workload::OneShot, 1, Side::Dlock)?;
        Some(OneShot {
            latency: record.durations.latency()?,
            median_ns: self.median_ns(record)?,
        })
    }

    /// Whether the interval of each comparison with a floor is narrow enough.
    pub(crate) fn is_settled(&self) -> bool {
        let mut keys = self.rounds.entrants.iter().map(|entrant| entrant.key);
        keys.all(|key| {
            let is_cycle = matches!(key.workload, Workload::Cycle | Workload::NewNames);
            if !is_cycle || key.side != Side::Floor {
                return true;
            }
            let sides = [Side::Dlock, Side::Floor];
            let ratio = self.rate_ratio(key.store, key.workload, key.tasks, sides);
            ratio.is_none_or(|ratio| ratio.half_width() <= HALF_WIDTH_MAX)
        })
    }

    pub(super) fn median_ns(&self, record: &Record) -> Option<Interval> {
        let medians: Vec<f64> = record.slices.iter().filter_map(median_of).collect();
        self.bootstrap.median(&medians)
    }
}

pub(super) fn median_of(slice: &Slice) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a slice")]
    slice.median_ns.map(|nanos| nanos as f64)
}

pub(super) fn quotient(over: Option<f64>, under: Option<f64>) -> Option<f64> {
    let (over, under) = (over?, under?);
    (over > 0.0 && under > 0.0).then(|| over / under)
}
