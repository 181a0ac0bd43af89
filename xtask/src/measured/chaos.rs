//! The totals that `cargo xtask chaos --record` kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;

use super::{
    data::read,
    speed::Speed,
    table::{NONE, Table, number},
};
use crate::failure::Result;

/// The totals by store.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Chaos(BTreeMap<String, Totals>);

#[derive(Debug, Deserialize)]
struct Totals {
    date: String,
    seed: String,
    grants: u64,
    control_lost: u64,
    faults: BTreeMap<String, Fault>,
    exceptions: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    struck: u64,
    bit: u64,
}

/// Of n cases without a violation at most three in n may have one, at 95 % (the rule of three).
const RULE: u64 = 3;

impl Chaos {
    pub(super) fn read(file: &Path) -> Result<Self> {
        read(file)
    }

    /// The promises that held, with how fast the store was.
    pub(super) fn guarantees(&self, speed: &Speed) -> String {
        let mut table = Table::new(&[
            "store",
            "grants under faults",
            "faults",
            "broken promises",
            "updates lost without tokens",
            "after a kill",
            "hand-over",
        ]);
        for (store, totals) in &self.0 {
            let struck: u64 = totals.faults.values().map(|fault| fault.struck).sum();
            let bound = totals.grants / RULE;
            table.row(&[
                store.clone(),
                number(totals.grants),
                number(struck),
                format!("0: fewer than 1 in {}", number(bound)),
                number(totals.control_lost),
                speed.after_a_kill(store).unwrap_or_else(|| NONE.to_owned()),
                speed.hand_over(store).unwrap_or_else(|| NONE.to_owned()),
            ]);
        }
        table.with_words(&format!(
            "Runs of {}. A broken promise is one that no declared exception covers. The control is a register that \
             compares no tokens. After a kill: until the next grant, in ttls. Hand-over: from a release to the next grant, \
             in round trips to the server. These two columns are of the run in [choosing.md](docs/choosing.md#what-each-did), \
             with the servers that are listed there. {}",
            self.dates(),
            speed.certainty()
        ))
    }

    /// How often each fault struck and bit.
    pub(super) fn bites(&self) -> String {
        let stores: Vec<_> = self.0.keys().map(String::as_str).collect();
        let mut table = Table::new(&[&["fault"], stores.as_slice()].concat());
        let faults: BTreeSet<_> = self
            .0
            .values()
            .flat_map(|totals| totals.faults.keys())
            .collect();
        for fault in faults {
            let cells = self
                .0
                .values()
                .map(|totals| match totals.faults.get(fault) {
                    Some(counts) => format!("{} in {}", number(counts.bit), number(counts.struck)),
                    None => NONE.to_owned(),
                });
            let name = format!("`{fault}`");
            table.row(&[name].into_iter().chain(cells).collect::<Vec<_>>());
        }
        let grants = self.0.values().map(|totals| number(totals.grants));
        let grants = ["**grants**".to_owned()].into_iter().chain(grants);
        table.row(&grants.collect::<Vec<_>>());
        let seeds = self
            .0
            .iter()
            .map(|(store, totals)| format!("{store} {}", totals.seed));
        let seeds = seeds.collect::<Vec<_>>().join(", ");
        table.with_words(&format!(
            "Bites in strikes; one strike may bite often. Seeds: {seeds}. Runs of {}.",
            self.dates()
        ))
    }

    /// How often each declared exception was seen.
    pub(super) fn exceptions(&self) -> String {
        let mut table = Table::new(&["store", "exception and fault", "seen"]);
        for (store, totals) in &self.0 {
            for (row, count) in &totals.exceptions {
                table.row(&[store.clone(), row.clone(), number(*count)]);
            }
        }
        table
            .with_words("A row of `exceptions.toml` that is not here was not seen: it is unproved.")
    }

    fn dates(&self) -> String {
        let dates: BTreeSet<_> = self.0.values().map(|totals| totals.date.as_str()).collect();
        dates.into_iter().collect::<Vec<_>>().join(", ")
    }
}
