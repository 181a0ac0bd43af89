//! The files that a run keeps in `target/chaos`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use dlock_verify::{
    chaos::{Plan, RunReport},
    history::{Header, Writer},
    support::Outcome,
};
use serde::{Deserialize, Serialize};

/// Beside the build: `cargo clean` removes it.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/chaos");

/// The plan of a part, and the card at which it failed: the file for `--replay`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) plan: Plan,
    pub(crate) failed_card: Option<u32>,
}

impl Kept {
    pub(crate) fn read(file: &Path) -> Outcome<Self> {
        let text = fs::read_to_string(file);
        let text = text.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let kept = serde_json::from_str(&text);
        Ok(kept.map_err(|error| format!("{} is not a plan of chaos: {error}", file.display()))?)
    }

    /// Writes it into the directory of its part, which is made if it is not there.
    pub(crate) fn write(&self, directory: &Path) -> Outcome<PathBuf> {
        fs::create_dir_all(directory)?;
        let file = directory.join("plan.json");
        fs::write(&file, serde_json::to_string(self)? + "\n")?;
        Ok(file)
    }
}

/// The directory of a part, which need not be there yet.
pub(crate) fn directory(store: &str, seed: u64) -> Outcome<PathBuf> {
    fs::create_dir_all(DIRECTORY)?;
    let all = Path::new(DIRECTORY).canonicalize()?;
    Ok(all.join(format!("{store}-{seed:x}")))
}

/// Writes the history of a part, and copies the logs of its servers.
pub(crate) fn keep(
    directory: &Path,
    plan: &Plan,
    report: &RunReport,
    ttl: Duration,
    logs: &[PathBuf],
) -> Outcome {
    let mut header = Header::new(plan.seed, ttl, &report.store);
    header.plan = serde_json::to_string(plan)?;
    header.store.clone_from(&plan.store);
    let file = directory.join("history.jsonl");
    // One of an earlier run with the same seed.
    if file.exists() {
        fs::remove_file(&file)?;
    }
    let mut writer = Writer::create(&file, &header)?;
    for event in &report.events {
        writer.record(event)?;
    }
    writer.finish()?;
    for (number, log) in logs.iter().enumerate() {
        // A log that is not there yet is not missed.
        let _ = fs::copy(log, directory.join(format!("server-{number}.log")));
    }
    Ok(())
}
