//! The run that `dlock bench --json` printed. Only ratios are shown: times depend on the machine.

use std::path::Path;

use serde::Deserialize;

use super::{
    data::read,
    table::{NONE, Table},
};
use crate::failure::Result;

#[derive(Debug, Deserialize)]
pub(super) struct Speed {
    begun_at: String,
    machine: Machine,
    stores: Vec<Store>,
}

#[derive(Debug, Deserialize)]
struct Machine {
    cores: u32,
    processor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Store {
    label: String,
    server: Option<String>,
    #[serde(default)]
    cycles: Vec<Cycles>,
    hand_over: Option<HandOver>,
    takeover: Option<Takeover>,
}

#[derive(Debug, Deserialize)]
struct Cycles {
    tasks: u32,
    dlock: Throughput,
    of_floor: Option<Interval>,
    server_cpu_of_floor: Option<Interval>,
}

#[derive(Debug, Deserialize)]
struct Throughput {
    per_second: Interval,
}

#[derive(Debug, Deserialize)]
struct HandOver {
    exchanges: Option<Interval>,
}

#[derive(Debug, Deserialize)]
struct Takeover {
    ttl_ms: f64,
    killed_ns: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

const NS_PER_MS: f64 = 1e6;

/// The tasks of the two columns.
const ONE: u32 = 1;
const MANY: u32 = 64;

impl Speed {
    pub(super) fn read(file: &Path) -> Result<Self> {
        read(file)
    }

    /// The median time until the next grant after a kill, in ttls.
    pub(super) fn after_a_kill(&self, store: &str) -> Option<String> {
        let takeover = self.of(store)?.takeover.as_ref()?;
        let mut times = takeover.killed_ns.clone();
        times.sort_by(f64::total_cmp);
        let median = *times.get(times.len() / 2)?;
        let ttls = median / NS_PER_MS / takeover.ttl_ms;
        Some(format!("{ttls:.2}"))
    }

    /// The median hand-over, in exchanges with the server.
    pub(super) fn hand_over(&self, store: &str) -> Option<String> {
        let exchanges = self.of(store)?.hand_over.as_ref()?.exchanges?;
        Some(plain(exchanges))
    }

    /// The speed of each store.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new(&[
            "store",
            "server",
            "locks a second, one task",
            "64 tasks",
            "of its driver, one task",
            "64 tasks",
            "server CPU, driver = 1",
            "hand-over, exchanges",
        ]);
        let rate = |store: &Store, tasks| Some(store.at(tasks)?.dlock.per_second.value);
        let least = |tasks| {
            let rates = self.stores.iter().filter_map(|store| rate(store, tasks));
            rates.fold(f64::INFINITY, f64::min)
        };
        let times = |store: &Store, tasks| {
            let times = rate(store, tasks)? / least(tasks);
            Some(format!("{times:.1} ×"))
        };
        let of_driver = |store: &Store, tasks| Some(plain(store.at(tasks)?.of_floor?));
        for store in &self.stores {
            let cpu = || Some(plain(store.at(MANY)?.server_cpu_of_floor?));
            let cells = [
                Some(store.label.clone()),
                store.server.clone(),
                times(store, ONE),
                times(store, MANY),
                of_driver(store, ONE),
                of_driver(store, MANY),
                cpu(),
                self.hand_over(&store.label),
            ];
            table.row(&cells.map(|cell| cell.unwrap_or_else(|| NONE.to_owned())));
        }
        let day = self.begun_at.split('T').next().unwrap_or_default();
        let processor = self
            .machine
            .processor
            .as_deref()
            .unwrap_or("a processor of unknown make");
        table.with_words(&format!(
            "A run of {day} on {} cores of {processor}, servers and clients on one machine. Rates are multiples of the \
             slowest store's. The [report](measured/report.html) of the run has all of it.",
            self.machine.cores
        ))
    }

    fn of(&self, store: &str) -> Option<&Store> {
        self.stores.iter().find(|found| found.label == store)
    }
}

impl Store {
    fn at(&self, tasks: u32) -> Option<&Cycles> {
        self.cycles.iter().find(|cycles| cycles.tasks == tasks)
    }
}

/// The value with half of its interval.
fn plain(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    format!("{:.2} ± {half:.2}", interval.value)
}
