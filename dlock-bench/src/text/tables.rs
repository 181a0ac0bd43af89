//! The columns of the tables.

use std::time::Duration;

use super::{
    columns::{Group, Table},
    numbers::{percent, rate, ratio, time},
    run::Shown,
};
use crate::{
    data::{Badge, Cycles, Store},
    safety::Safety,
    stats::median_ns,
};

impl Shown<'_> {
    /// The numbers of the default workloads.
    pub(super) fn main(&self) -> Table {
        let most = self.most_tasks();
        let one = |store: &Store| cycles(store, 1).map(|row| row.dlock.latency.clone());
        let mut groups = vec![
            self.safety(),
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
            self.of_driver(most),
        ];
        let cpu = Group::new("CPU of the driver's")
            .column(
                "server",
                self.each(|store| {
                    let ratio = cycles(store, most)?.server_cpu_of_floor?;
                    Some(format!("{:.1} ×", ratio.value))
                }),
            )
            .column(
                "client",
                self.each(|store| {
                    let ratio = cycles(store, most)?.client_cpu_of_floor?;
                    Some(format!("{:.1} ×", ratio.value))
                }),
            );
        match self.0.noise.badge {
            Badge::Quiet => groups.push(cpu),
            Badge::Noisy => groups.insert(0, cpu),
        }
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
        let title = match most {
            64 => "64 tasks",
            8 => "8 tasks",
            _ => "most tasks",
        };
        Group::new(title)
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
    }

    fn of_driver(&self, most: u32) -> Group {
        let of = |store: &Store, tasks| {
            let found = cycles(store, tasks)?.of_floor?;
            Some(self.marked(ratio(found)))
        };
        let group = Group::new("rate of the driver's").column("1", self.each(|store| of(store, 1)));
        match most {
            1 => group,
            most => group.column(most.to_string(), self.each(|store| of(store, most))),
        }
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

fn median(nanos: &[u64]) -> Option<String> {
    median_ns(nanos).map(time)
}
