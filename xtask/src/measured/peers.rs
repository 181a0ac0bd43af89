//! The run of `cargo xtask peers`: dlock beside other lock clients. Only ratios are shown: times depend on the machine.

use std::path::Path;

use serde::Deserialize;

use super::{
    data::read,
    table::{NONE, Table},
};
use crate::failure::Result;

#[derive(Debug, Deserialize)]
pub(super) struct Peers {
    stores: Vec<Store>,
}

#[derive(Debug, Deserialize)]
struct Store {
    store: String,
    server: String,
    begun_at: String,
    machine: Machine,
    rounds: u32,
    seconds: f64,
    clients: Vec<Client>,
}

#[derive(Debug, Deserialize)]
struct Machine {
    cores: u32,
    processor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Client {
    name: String,
    language: String,
    token: String,
    renewal: String,
    wake_up: String,
    settings: String,
    version: Option<String>,
    missing: Option<String>,
    again: bool,
    one: Option<Cycles>,
    many: Option<Cycles>,
    hand_over: Option<HandOver>,
    contended: Option<Contended>,
}

#[derive(Debug, Deserialize)]
struct Cycles {
    of_raw: Option<Ratios>,
}

#[derive(Debug, Deserialize)]
struct Ratios {
    per_second: Interval,
    client_cpu: Interval,
    server_cpu: Interval,
}

#[derive(Debug, Deserialize)]
struct HandOver {
    median_ms: f64,
}

#[derive(Debug, Deserialize)]
struct Contended {
    moved_per_second: Interval,
    jain: Interval,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

/// The columns of a store's table.
const COLUMNS: [&str; 10] = [
    "client",
    "cycles, one task",
    "64 tasks",
    "client CPU, one task",
    "64 tasks",
    "server CPU, one task",
    "64 tasks",
    "hand-over, of dlock's",
    "to another client, of dlock's",
    "Jain's index",
];

impl Peers {
    pub(super) fn read(file: &Path) -> Result<Self> {
        read(file)
    }

    /// All tables: the figures of each store, then what each client guarantees.
    pub(super) fn tables(&self) -> String {
        let mut parts: Vec<_> = self.stores.iter().map(Store::table).collect();
        parts.push(format!("## Guarantees\n\n{}", self.guarantees()));
        parts.join("\n")
    }

    /// A row for each client; the stores that it was measured with in the same way share it.
    fn guarantees(&self) -> String {
        let mut table = Table::new(&[
            "client",
            "store",
            "version",
            "language",
            "token",
            "renewal",
            "how a waiter is woken",
            "measured as",
        ]);
        let mut shown: Vec<(&Client, Vec<&str>)> = Vec::new();
        for store in &self.stores {
            for client in store.clients.iter().filter(|client| !client.again) {
                let row = |client: &Client| {
                    (
                        client.name.clone(),
                        client.wake_up.clone(),
                        client.settings.clone(),
                    )
                };
                match shown
                    .iter_mut()
                    .find(|(other, _)| row(other) == row(client))
                {
                    Some((_, stores)) => stores.push(&store.store),
                    None => shown.push((client, vec![&store.store])),
                }
            }
        }
        for (client, stores) in shown {
            let version = client.version.clone().unwrap_or_else(|| NONE.to_owned());
            table.row(&[
                client.name.clone(),
                stores.join(", "),
                version,
                client.language.clone(),
                client.token.clone(),
                client.renewal.clone(),
                client.wake_up.clone(),
                client.settings.clone(),
            ]);
        }
        table.text()
    }
}

impl Store {
    fn table(&self) -> String {
        let mut table = Table::new(&COLUMNS);
        let mut absent = Vec::new();
        let ours = self.clients.iter().find(|client| client.name == "dlock");
        for client in &self.clients {
            match &client.missing {
                Some(_) => absent.push(client.name.as_str()),
                None => table.row(&client.cells(ours)),
            }
        }
        let day = self.begun_at.split('T').next().unwrap_or_default();
        let processor = self.machine.processor.as_deref();
        let absent = match absent.is_empty() {
            true => String::new(),
            false => format!(" Not measured: {}.", absent.join(", ")),
        };
        let text = table.with_words(&format!(
            "{} rounds of {} s on {day}; {} cores of {}.{absent}",
            self.rounds,
            self.seconds,
            self.machine.cores,
            processor.unwrap_or("a processor of unknown make")
        ));
        format!("## {}: {}\n\n{text}", self.store, self.server)
    }
}

impl Client {
    fn cells(&self, dlock: Option<&Self>) -> [String; COLUMNS.len()] {
        let [one, many] = [&self.one, &self.many].map(|cycles| cycles.as_ref()?.of_raw.as_ref());
        let hand_over = |client: &Self| Some(client.hand_over.as_ref()?.median_ms);
        let moved = |client: &Self| Some(client.contended.as_ref()?.moved_per_second.value);
        let of_dlock = |of: &dyn Fn(&Self) -> Option<f64>| Some(short(of(self)? / of(dlock?)?));
        let jain = self
            .contended
            .as_ref()
            .map(|contended| plain(contended.jain));
        let name = match self.again {
            true => format!("{}, again", self.name),
            false => self.name.clone(),
        };
        let cells = [
            Some(name),
            one.map(|of_raw| plain(of_raw.per_second)),
            many.map(|of_raw| plain(of_raw.per_second)),
            one.map(|of_raw| plain(of_raw.client_cpu)),
            many.map(|of_raw| plain(of_raw.client_cpu)),
            one.map(|of_raw| plain(of_raw.server_cpu)),
            many.map(|of_raw| plain(of_raw.server_cpu)),
            of_dlock(&hand_over),
            of_dlock(&moved),
            jain,
        ];
        cells.map(|cell| cell.unwrap_or_else(|| NONE.to_owned()))
    }
}

/// The value with half of its spread.
fn plain(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    let digits = digits(interval.value);
    format!("{:.digits$} ± {half:.digits$}", interval.value)
}

fn short(number: f64) -> String {
    format!("{number:.*}", digits(number))
}

/// How many digits behind the point are of use.
fn digits(number: f64) -> usize {
    match number {
        10.0.. => 0,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_not_there_is_named_below() {
        let client = |name: &str, rest: &str| {
            format!(
                r#"{{"name": "{name}", "language": "Rust", "token": "yes", "renewal": "yes", "wake_up": "watch",
                    "settings": "defaults", "again": false {rest}}}"#
            )
        };
        let cycles = r#"{"of_raw": {"per_second": {"value": 0.5, "low": 0.25, "high": 0.75},
            "client_cpu": {"value": 1, "low": 1, "high": 1}, "server_cpu": {"value": 20, "low": 19, "high": 23}}}"#;
        let text = format!(
            r#"{{"stores": [{{"store": "etcd", "server": "etcd 3", "begun_at": "2026-01-02T03:04:05Z",
                "machine": {{"cores": 2}}, "rounds": 5, "seconds": 1.0, "clients": [{}, {}]}}]}}"#,
            client(
                "dlock",
                &format!(
                    r#", "version": "0.1.0", "one": {cycles}, "hand_over": {{"median_ms": 2}}"#
                )
            ),
            client("jetcd", r#", "missing": "no Java""#),
        );
        let peers: Peers = serde_json::from_str(&text).expect("a run");
        let tables = peers.tables();
        let row = "| dlock | 0.50 ± 0.25 | – | 1.00 ± 0.00 | – | 20 ± 2 | – | 1.00 | – | – |\n";
        assert!(tables.contains(row), "{tables}");
        assert!(
            tables.contains("on 2026-01-02;") && tables.contains("Not measured: jetcd."),
            "{tables}"
        );
        assert!(tables.contains("| dlock | etcd | 0.1.0 |"), "{tables}");
    }
}
