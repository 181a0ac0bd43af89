//! The totals of the stores in a file, from which `cargo xtask measured` makes the tables of the docs.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use dlock_core::Clock;
use dlock_verify::support::Outcome;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::part::Part;

/// The totals of one store.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Totals {
    /// The day of the run, in UTC.
    date: String,
    seed: String,
    parts: usize,
    grants: u64,
    seconds: u64,
    /// The updates that the control lost, which compares no tokens.
    control_lost: u64,
    /// Per fault, how often it struck and bit.
    faults: BTreeMap<String, Fault>,
    /// Per declared exception and clause, how often it was seen.
    exceptions: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Fault {
    struck: u64,
    bit: u64,
}

/// Stores may end at the same time.
static FILE: Mutex<()> = Mutex::const_new(());

/// Puts the totals of `parts` into `file`, in the place of earlier ones of `store`.
pub(super) async fn add(file: &Path, store: &str, seed: u64, parts: &[Part]) -> Outcome {
    let _turn = FILE.lock().await;
    let mut stores: BTreeMap<String, Totals> = match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    stores.insert(store.to_owned(), totals(seed, parts));
    let text = serde_json::to_string_pretty(&stores)?;
    Ok(fs::write(file, text + "\n")?)
}

fn totals(seed: u64, parts: &[Part]) -> Totals {
    let now = Duration::from_micros(Clock::boottime().unix_micros());
    let now = humantime::format_rfc3339_seconds(UNIX_EPOCH + now).to_string();
    let mut totals = Totals {
        date: now.chars().take_while(|letter| *letter != 'T').collect(),
        seed: format!("{seed:x}"),
        parts: parts.len(),
        ..Totals::default()
    };
    for part in parts {
        totals.grants += part.grants;
        totals.seconds += part.took.as_secs();
        totals.control_lost += part.control_lost;
        for (name, bites) in &part.bites {
            let fault = totals.faults.entry(name.clone()).or_default();
            fault.struck += bites.strikes;
            fault.bit += bites.bites;
        }
        for (row, count) in &part.declared {
            *totals.exceptions.entry(row.clone()).or_default() += count;
        }
    }
    totals
}
