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
    settings: Settings,
    settled: bool,
    noise: Noise,
    stores: Vec<Store>,
    verdicts: Option<Verdicts>,
}

#[derive(Debug, Deserialize)]
struct Settings {
    half_width_max: f64,
}

#[derive(Debug, Deserialize)]
struct Noise {
    badge: String,
    reasons: Vec<String>,
}

/// The facts that `dlock verify` read of the servers.
#[derive(Debug, Deserialize)]
struct Verdicts {
    stores: Vec<Verdict>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    url: String,
    server: Server,
    findings: Vec<Found>,
}

#[derive(Debug, Deserialize)]
struct Server {
    role: String,
}

#[derive(Debug, Deserialize)]
struct Found {
    id: String,
    found: String,
}

#[derive(Debug, Deserialize)]
struct Machine {
    cores: u32,
    processor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Store {
    label: String,
    url: String,
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

/// The badge of a run whose figures are not certain.
const NOISY: &str = "noisy";

/// The finding about data that a server does not write to its disk.
const NOT_WRITTEN: &str = "redis.restart";

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
            "of the driver's rate, one task",
            "64 tasks",
            "server CPU a lock, of the driver's",
            "hand-over, in round trips",
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
            "{COLUMNS}\n\nA run of {day} on {} cores of {processor}, servers and clients on one machine. {} The \
             [report](measured/report.html) of the run has all of it. Its servers and the settings of their URLs:\n\n{}",
            self.machine.cores,
            self.certainty(),
            self.servers()
        ))
    }

    /// Whether the machine was quiet, and the figures settled.
    pub(super) fn certainty(&self) -> String {
        let mut sentences = Vec::new();
        if self.noise.badge == NOISY {
            sentences.push("**The run was noisy**, so small differences say nothing.".to_owned());
            let reasons = self.noise.reasons.iter();
            sentences.extend(reasons.map(|reason| sentence(reason)));
        }
        if !self.settled {
            let wanted = self.settings.half_width_max * 100.0;
            sentences.push(format!(
                "It had not settled when its time was over: some interval is wider than ± {wanted:.0} %."
            ));
        }
        match sentences.is_empty() {
            true => "The run was quiet, and it had settled.".to_owned(),
            false => sentences.join(" "),
        }
    }

    /// The role and the settings of each server, a line each.
    fn servers(&self) -> String {
        let lines = self.stores.iter().filter_map(|store| {
            let facts = self.facts(store);
            (!facts.is_empty()).then(|| format!("- {}: {}", store.label, facts.join(", ")))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn facts(&self, store: &Store) -> Vec<String> {
        let verdicts = self.verdicts.iter().flat_map(|all| &all.stores);
        let mut verdicts = verdicts.filter(|verdict| verdict.url == store.url);
        let verdict = verdicts.next();
        let role = verdict.map(|verdict| verdict.server.role.clone());
        let role = role.into_iter().filter(|role| !role.is_empty());
        let keys = store.url.split_once('?').map_or("", |(_, keys)| keys);
        let keys = keys.split('&').filter(|key| !key.is_empty());
        let findings = verdict.into_iter().flat_map(|verdict| &verdict.findings);
        let findings = findings.filter(|finding| finding.id == NOT_WRITTEN);
        role.chain(keys.map(|key| format!("`{key}`")))
            .chain(findings.map(|finding| format!("`{}`", finding.found)))
            .collect()
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

/// The meaning of the columns.
const COLUMNS: &str = "Locks a second are multiples of the slowest store's. *Of the driver's rate* compares dlock with \
                       the bare driver of the store, which does the same work without any safety. Above 1 dlock is \
                       faster: it sends the requests of many tasks as one, and a plain client of the driver sends each by \
                       itself. *Server CPU* is the processor time that the server spends on a lock, with 64 tasks: below 1 \
                       dlock costs it less. *Hand-over* is the time from a release to the next grant, in round trips to \
                       the server.";

/// A reason as a sentence.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// The value with half of its interval.
fn plain(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    format!("{:.2} ± {half:.2}", interval.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of one store, with these parts of the file.
    fn run(noise: &str, settled: bool, findings: &str) -> Speed {
        let text = format!(
            r#"{{"begun_at": "2026-01-02T03:04:05Z", "machine": {{"cores": 2, "processor": "Z80"}},
                "settings": {{"half_width_max": 0.03}}, "settled": {settled}, "noise": {noise},
                "stores": [
                    {{"label": "file", "url": "file:/tmp"}},
                    {{"label": "redis", "url": "redis://h?ttl=1s&restart_guard=0s"}}],
                "verdicts": {{"stores": [
                    {{"url": "file:/tmp", "server": {{"role": ""}}, "findings": []}},
                    {{"url": "redis://h?ttl=1s&restart_guard=0s", "server": {{"role": "primary"}},
                      "findings": [{findings}]}}]}}}}"#
        );
        serde_json::from_str(&text).expect("a run")
    }

    const QUIET: &str = r#"{"badge": "quiet", "reasons": []}"#;

    #[test]
    fn noise_and_what_had_not_settled_are_below_the_table() {
        let noisy = r#"{"badge": "noisy", "reasons": ["it differs by 9 %", "others ran"]}"#;
        let text = run(noisy, false, "").certainty();
        for part in [
            "noisy",
            "It differs by 9 %. Others ran.",
            "wider than ± 3 %",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = run(QUIET, true, "").certainty();
        assert_eq!(text, "The run was quiet, and it had settled.");
        assert!(run(QUIET, false, "").certainty().contains("not settled"));
    }

    #[test]
    fn roles_and_settings_of_servers_are_listed() {
        let findings =
            r#"{"id": "redis.restart", "found": "appendonly no"}, {"id": "redis.x", "found": "y"}"#;
        let text = run(QUIET, true, findings).table();
        let list = "\n\n- redis: primary, `ttl=1s`, `restart_guard=0s`, `appendonly no`\n";
        assert!(text.ends_with(list), "{text}");
    }
}
