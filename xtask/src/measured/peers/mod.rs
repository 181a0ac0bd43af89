//! The run of `cargo xtask peers`: dlock beside other lock clients. Rates are shown as ratios: they depend on the machine.

mod cells;
mod contention;
mod data;
mod detail;
mod overview;
mod rows;

use std::path::Path;

pub(super) use self::data::Peers;
use self::{
    contention::contention,
    data::{Awake, Client, Store},
    detail::{again, apart, once},
    overview::overview,
};
use super::{
    data::read,
    table::{NONE, Table},
};
use crate::failure::Result;

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
                    Some((_, stores)) if stores.contains(&&*store.store) => {}
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
    /// The tables of what was measured.
    fn table(&self) -> String {
        let delay = match self.delay_ms {
            0.0 => String::new(),
            delay => format!(", {delay} ms each way"),
        };
        let mut parts = vec![format!("## {}: {}{delay}\n", self.store, self.server)];
        let tables = [
            overview(self),
            again(self),
            once(self),
            apart(self),
            contention(self),
        ];
        parts.extend(tables.into_iter().flatten());
        parts.push(self.words());
        parts.join("\n")
    }

    fn words(&self) -> String {
        let absent = self
            .clients
            .iter()
            .filter(|client| client.missing.is_some());
        let absent: Vec<_> = absent.map(|client| client.name.as_str()).collect();
        let absent = match absent.is_empty() {
            true => String::new(),
            false => format!(" Not measured: {}.", absent.join(", ")),
        };
        let round_trip = self.round_trip_ms.map_or_else(String::new, |time| {
            format!(" A round trip took {:.2} ms.", time.value)
        });
        let asleep = match &self.awake {
            Some(Awake::Cores(_)) => String::new(),
            Some(Awake::Not(why)) => format!(" Idle cores slept: {why}."),
            None => " Idle cores slept.".to_owned(),
        };
        let contention = self.contention_seconds;
        let contention =
            contention.map_or_else(String::new, |time| format!(", contention for {time} s"));
        let day = self.begun_at.split('T').next().unwrap_or_default();
        let processor = self.machine.processor.as_deref();
        format!(
            "{} rounds of {} s on {day}{contention}; {} cores of {}.{round_trip}{absent}{asleep}\n",
            self.rounds,
            self.seconds,
            self.machine.cores,
            processor.unwrap_or("a processor of unknown make")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_has_the_tables_of_what_was_measured() {
        let client = |name: &str, rest: &str| {
            format!(
                r#"{{"name": "{name}", "language": "Rust", "token": "yes", "renewal": "yes", "wake_up": "watch",
                    "settings": "defaults", "again": false {rest}}}"#
            )
        };
        let cycles = r#"{"of_raw": {"per_second": {"value": 0.5, "low": 0.25, "high": 0.75, "sure": [0.3, 0.6]},
            "client_cpu": {"value": 1, "low": 1, "high": 1}, "server_cpu": {"value": 20, "low": 19, "high": 23}}}"#;
        let two = r#"{"value": 2, "low": 1, "high": 3}"#;
        let shared = format!(
            r#""moved_per_second": {two}, "jain": {two}, "shares": {{"least": 0.5, "greatest": 3}},
                "longest_wait_ms": 9.6"#
        );
        let text = format!(
            r#"{{"stores": [{{"store": "etcd", "server": "etcd 3", "begun_at": "2026-01-02T03:04:05Z", "delay_ms": 0.5,
                "round_trip_ms": {two}, "machine": {{"cores": 2}}, "awake": {{"not": "refused"}}, "rounds": 5,
                "seconds": 1.0, "contention_seconds": 10, "clients": [{}, {}]}}]}}"#,
            client(
                "dlock",
                &format!(
                    r#", "version": "0.1.0", "one": {cycles}, "apart": {cycles}, "hand_over": {{"median_ms": 2}},
                        "contended": {{{shared}}},
                        "herds": [{{"clients": 20, "hold_ms": 5, "tries": {two}, {shared}}}]"#
                )
            ),
            client("jetcd", r#", "missing": "no Java", "herds": []"#),
        );
        let peers: Peers = serde_json::from_str(&text).expect("a run");
        let tables = peers.tables();
        let row = "| dlock | 1.00 ± 0.00 | – | 20 ± 2 | – | 0.50 ± 0.25 | – | 1.00 | 1.00 | 2.00 ± 1.00 |\n";
        assert!(tables.contains(row), "{tables}");
        for part in [
            "## etcd: etcd 3, 0.5 ms each way\n\n| client |",
            "| dlock | 0.50 (0.30–0.60) | – | – |",
            "| dlock | 1.00 | 20 | 0.50 (0.30–0.60) | – |\n",
            "| dlock | 16 | 0 ms | 2.00 | 2.00 | 0.50 to 3.00 | 10 ms | – |\n",
            "| dlock | 20 | 5 ms | 2.00 | 2.00 | 0.50 to 3.00 | 10 ms | 2.00 |\n",
            "on 2026-01-02, contention for 10 s;",
            "A round trip took 2.00 ms. Not measured: jetcd. Idle cores slept: refused.",
            "| dlock | etcd | 0.1.0 |",
        ] {
            assert!(tables.contains(part), "{part}: {tables}");
        }
    }
}
