//! The cycles of a store, beside its floor and its own lock.

use super::recorded::{Summary, quotient};
use crate::{
    data::{Cycles, Interval, Side, Slice, Throughput, UsedOnce, Workload},
    rounds::Record,
};

impl Summary<'_> {
    /// The cycles of a store on the same names, by each number of tasks.
    pub(crate) fn cycles(&self, store: u32, is_local: bool) -> Vec<Cycles> {
        let with_limit = |mut row: Cycles| {
            row.limit = self.limit(store, row.tasks, &row.dlock, is_local);
            row
        };
        let rows = self.rows(store, Workload::Cycle).into_iter();
        rows.map(with_limit).collect()
    }

    /// The cycles of a store on names that are used once, by each number of tasks.
    pub(crate) fn new_names(&self, store: u32) -> Vec<Cycles> {
        self.rows(store, Workload::NewNames)
    }

    /// How many names were used once, and what they left; `None` if there were none.
    pub(crate) fn used_once(&self, store: u32) -> Option<UsedOnce> {
        let sides = self.rounds.entrants.iter().filter(|entrant| {
            let key = entrant.key;
            key.store == store && key.workload == Workload::NewNames
        });
        let mut all = UsedOnce::default();
        for record in sides.map(|entrant| &entrant.record) {
            all.names += record.all;
            all.removed += record.cleared.removed;
            all.locks += record.cleared.locks;
        }
        (all.names > 0).then_some(all)
    }

    fn rows(&self, store: u32, workload: Workload) -> Vec<Cycles> {
        let tasks = self.tasks(store, workload).into_iter();
        tasks
            .filter_map(|tasks| self.row(store, workload, tasks))
            .collect()
    }

    fn row(&self, store: u32, workload: Workload, tasks: u32) -> Option<Cycles> {
        let of = |side| self.record(store, workload, tasks, side);
        let dlock = of(Side::Dlock)?;
        let [again, floor, own_lock] = [Side::Again, Side::Floor, Side::OwnLock].map(of);
        let beside = |one: Option<&Record>, other: Option<&Record>| {
            self.bootstrap.median(&ratios(one?, other?))
        };
        Some(Cycles {
            tasks,
            dlock: self.throughput(dlock)?,
            floor: floor.and_then(|record| self.throughput(record)),
            own_lock: own_lock.and_then(|record| self.throughput(record)),
            of_floor: beside(Some(dlock), floor),
            of_own_lock: beside(Some(dlock), own_lock),
            same_twice: beside(again, Some(dlock)),
            server_cpu_of_floor: floor.and_then(|floor| self.cpu_ratio(dlock, floor, server_cpu)),
            client_cpu_of_floor: floor.and_then(|floor| self.cpu_ratio(dlock, floor, client_cpu)),
            limit: None,
        })
    }

    pub(super) fn cycle_record(&self, store: u32, tasks: u32, side: Side) -> Option<&Record> {
        self.record(store, Workload::Cycle, tasks, side)
    }

    fn throughput(&self, record: &Record) -> Option<Throughput> {
        let rates: Vec<f64> = record.slices.iter().map(Slice::rate).collect();
        Some(Throughput {
            per_second: self.bootstrap.median(&rates)?,
            latency: record.durations.latency()?,
            client_cpu_ns: cpu_of_cycle(&record.slices, client_cpu)?,
            server_cpu_ns: cpu_of_cycle(&record.slices, server_cpu),
            server_flush_ns: record.flush.and_then(|flush| record.of_cycle(flush)),
        })
    }

    /// The rate of one side as a part of another's.
    pub(super) fn rate_ratio(
        &self,
        store: u32,
        workload: Workload,
        tasks: u32,
        [one, other]: [Side; 2],
    ) -> Option<Interval> {
        let one = self.record(store, workload, tasks, one)?;
        let other = self.record(store, workload, tasks, other)?;
        self.bootstrap.median(&ratios(one, other))
    }

    fn cpu_ratio(
        &self,
        one: &Record,
        other: &Record,
        cpu: impl Fn(&Slice) -> Option<u64>,
    ) -> Option<Interval> {
        let rounds = one.slices.len().min(other.slices.len());
        self.bootstrap.interval(rounds, |drawn| {
            let of = |record: &Record| {
                let slices: Vec<Slice> = drawn.iter().map(|&round| record.slices[round]).collect();
                cpu_of_cycle(&slices, &cpu)
            };
            quotient(of(one), of(other))
        })
    }
}

/// The rates of one side as parts of another's, by rounds.
pub(super) fn ratios(one: &Record, other: &Record) -> Vec<f64> {
    let pairs = one.slices.iter().zip(&other.slices);
    pairs
        .filter_map(|(one, other)| quotient(Some(one.rate()), Some(other.rate())))
        .collect()
}

fn client_cpu(slice: &Slice) -> Option<u64> {
    Some(slice.client_cpu_us)
}

fn server_cpu(slice: &Slice) -> Option<u64> {
    slice.server_cpu_us
}

/// The processor time of one cycle, in nanoseconds; `None` if it is unknown for any slice.
pub(super) fn cpu_of_cycle(slices: &[Slice], cpu: impl Fn(&Slice) -> Option<u64>) -> Option<f64> {
    let micros: u64 = slices.iter().map(cpu).sum::<Option<u64>>()?;
    let count: u64 = slices.iter().map(|slice| slice.count).sum();
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
    let nanos = (count > 0).then(|| micros as f64 * 1e3 / count as f64);
    nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(count: u64, took_us: u64, server_cpu_us: Option<u64>) -> Slice {
        Slice {
            side: 0,
            count,
            took_us,
            median_ns: None,
            client_cpu_us: 2 * count,
            server_cpu_us,
        }
    }

    fn record(slices: Vec<Slice>) -> Record {
        let mut record = Record::new();
        record.slices = slices;
        record
    }

    #[test]
    fn rounds_without_a_cycle_have_no_ratio() {
        let one = record(vec![
            slice(10, 100, None),
            slice(10, 100, None),
            slice(5, 100, None),
        ]);
        let other = record(vec![
            slice(20, 100, None),
            slice(0, 0, None),
            slice(5, 100, None),
        ]);
        let found = ratios(&one, &other);
        assert_eq!(found.len(), 2);
        assert!((found[0] - 0.5).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn processor_time_is_that_of_all_rounds() {
        let slices = [slice(10, 100, Some(50)), slice(30, 100, Some(30))];
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.expect("known") - expected).abs() < 1e-9, "{found:?}");
        };
        near(cpu_of_cycle(&slices, server_cpu), 2_000.0);
        near(cpu_of_cycle(&slices, client_cpu), 2_000.0);
        let unknown = [slice(10, 100, None), slices[0]];
        assert_eq!(cpu_of_cycle(&unknown, server_cpu), None);
        assert_eq!(cpu_of_cycle(&[], client_cpu), None);
    }
}
