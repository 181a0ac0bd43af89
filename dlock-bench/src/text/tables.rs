//! The columns of the tables.

use std::time::Duration;

use super::{
    columns::{Group, Table},
    numbers::{percent, rate, ratio, time},
    run::Shown,
};
use crate::{
    data::{Cycles, Interval, Store},
    safety::Safety,
    stats::median_ns,
};

impl Shown<'_> {
    /// The numbers of the default workloads.
    pub(super) fn main(&self) -> Table {
        let most = self.most_tasks();
        let one = |store: &Store| cycles(store, 1).map(|row| row.dlock.latency.clone());
        let mut groups = vec![self.safety()];
        // Processor time first: it depends least on what else the machine does.
        groups.extend(self.of_driver(most));
        groups.extend([
            Group::new("one lock")
                .column("p50", self.each(|store| Some(time(one(store)?.p50_ns))))
                .column("p99", self.each(|store| Some(time(one(store)?.p99_ns)))),
            self.throughput(most),
            Group::new("hand-over")
                .column(
                    "p50",
                    self.each(|store| Some(time(store.hand_over.as_ref()?.latency.p50_ns))),
                )
                .column(
                    "p99",
                    self.each(|store| Some(time(store.hand_over.as_ref()?.latency.p99_ns))),
                ),
            Group::new("one shot").column(
                "p50",
                self.each(|store| Some(time(store.one_shot.as_ref()?.latency.p50_ns))),
            ),
            Group::new("after a crash")
                .column(
                    "ttl",
                    self.each(|store| {
                        let ttl = Duration::from_millis(store.takeover.as_ref()?.ttl_ms);
                        Some(format!("{} s", ttl.as_secs_f64()))
                    }),
                )
                .column(
                    "killed",
                    self.each(|store| median(&store.takeover.as_ref()?.killed_ns)),
                )
                .column(
                    "cut off",
                    self.each(|store| median(store.takeover.as_ref()?.cut_off_ns.as_ref()?)),
                ),
        ]);
        Table {
            rows: self.rows(),
            groups,
        }
    }

    /// The verdicts in a word; nothing if there are none.
    fn safety(&self) -> Group {
        let word = |store: &Store| {
            self.0.verdicts.as_ref()?;
            let (sign, words) = Safety::of(self.0.verdict(store)).shown();
            Some(format!("{sign} {words}"))
        };
        Group::new("safety").column("", self.each(word))
    }

    fn throughput(&self, most: u32) -> Group {
        Group::new(by(most))
            .column(
                "locks/s",
                self.each(|store| {
                    let row = cycles(store, most)?;
                    Some(self.marked(rate(row.dlock.per_second.value)))
                }),
            )
            .column(
                "of limit",
                self.each(|store| {
                    let limit = cycles(store, most)?.limit.as_ref()?;
                    Some(self.marked(percent(limit.reached)))
                }),
            )
            .column(
                "names used once/s",
                self.each(|store| {
                    let row = new_names(store, most)?;
                    Some(self.marked(rate(row.dlock.per_second.value)))
                }),
            )
    }

    /// Processor time and rate of a cycle as multiples of the driver's.
    fn of_driver(&self, most: u32) -> Vec<Group> {
        let mut groups = vec![self.beside("of the driver's, 1 task", |store| cycles(store, 1))];
        if most > 1 {
            groups.push(self.beside(of_driver_by(most), |store| cycles(store, most)));
        }
        groups.push(self.beside("names used once, 1 task", |store| new_names(store, 1)));
        if most > 1 {
            let title = "names used once, 64 tasks";
            groups.push(self.beside(title, |store| new_names(store, 64)));
        }
        groups
    }

    fn beside(&self, title: &'static str, row: impl Fn(&Store) -> Option<&Cycles>) -> Group {
        let cpu = |ratio: Option<Interval>| ratio.map(|ratio| format!("{:.1} ×", ratio.value));
        Group::new(title)
            .column(
                "server CPU",
                self.each(|store| cpu(row(store)?.server_cpu_of_floor)),
            )
            .column(
                "client CPU",
                self.each(|store| cpu(row(store)?.client_cpu_of_floor)),
            )
            .column(
                "rate",
                self.each(|store| Some(self.marked(ratio(row(store)?.of_floor?)))),
            )
    }

    /// The numbers of the other workloads; nothing if none was measured.
    pub(super) fn more(&self) -> Table {
        let latency = |store: &Store| store.steady.as_ref().map(|steady| steady.latency.clone());
        let held = |store: &Store| store.held.iter().max_by_key(|held| held.locks).cloned();
        Table {
            rows: self.rows(),
            groups: vec![
                Group::new("steady, from when due")
                    .column("p50", self.each(|store| Some(time(latency(store)?.p50_ns))))
                    .column("p99", self.each(|store| Some(time(latency(store)?.p99_ns))))
                    .column(
                        "p99.9",
                        self.each(|store| Some(time(latency(store)?.p999_ns))),
                    ),
                Group::new("8 processes, one lock")
                    .column(
                        "locks/s",
                        self.each(|store| {
                            Some(self.marked(rate(store.contention.as_ref()?.per_second)))
                        }),
                    )
                    .column(
                        "Jain",
                        self.each(|store| Some(format!("{:.2}", store.contention.as_ref()?.jain))),
                    )
                    .column(
                        "longest wait",
                        self.each(|store| Some(time(store.contention.as_ref()?.longest_wait_ns))),
                    ),
                Group::new("most locks held")
                    .column(
                        "locks",
                        self.each(|store| Some(rate(held(store)?.locks.into()))),
                    )
                    .column(
                        "requests/s",
                        self.each(|store| Some(rate(held(store)?.server_requests_per_second?))),
                    )
                    .column(
                        "bytes each",
                        self.each(|store| Some(rate(held(store)?.server_bytes_each?))),
                    )
                    .column(
                        "ttl left",
                        self.each(|store| Some(percent(held(store)?.ttl_left_min))),
                    ),
            ],
        }
    }
}

fn cycles(store: &Store, tasks: u32) -> Option<&Cycles> {
    store.cycles.iter().find(|row| row.tasks == tasks)
}

fn new_names(store: &Store, tasks: u32) -> Option<&Cycles> {
    store.new_names.iter().find(|row| row.tasks == tasks)
}

fn by(tasks: u32) -> &'static str {
    match tasks {
        64 => "64 tasks",
        8 => "8 tasks",
        _ => "most tasks",
    }
}

fn of_driver_by(tasks: u32) -> &'static str {
    match tasks {
        64 => "of the driver's, 64 tasks",
        8 => "of the driver's, 8 tasks",
        _ => "of the driver's, most tasks",
    }
}

fn median(nanos: &[u64]) -> Option<String> {
    median_ns(nanos).map(time)
}
