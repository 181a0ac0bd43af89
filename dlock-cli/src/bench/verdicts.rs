//! The verdicts beside the speed: of a verification before the measurement, or of an earlier one.

use std::{fs, path::Path, time::Duration};

use dlock::config::{Config, Registry};
use dlock_bench::Target;
use dlock_verify::verdict::Document;

use crate::{
    base::{exit::Failure, output},
    verify::{Faults, Plan, verify},
};

/// Verifies the stores for `run_for`, all at once.
///
/// # Errors
///
/// When a signal stopped it.
///
/// # Cancel safety
///
/// Not to be dropped, as `verify`.
pub(super) async fn of(
    registry: &Registry,
    targets: &[Target],
    run_for: Duration,
    seed: u64,
) -> Result<Document, Failure> {
    let configs: Vec<Config> = targets.iter().map(|target| target.config.clone()).collect();
    let plan = Plan {
        run_for,
        faults: Faults::On,
        seed,
    };
    Ok(verify(registry, configs, plan).await?.document)
}

/// Reads the verdicts of an earlier verification about the `stores`, which are URLs without passwords.
///
/// # Errors
///
/// When the file is none, or has no verdict about any of the stores.
pub(super) fn read(file: &Path, stores: &[String]) -> Result<Document, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        let why = output::describe(&error);
        Failure::usage(format!("cannot read {shown}: {why}"))
    })?;
    let document = Document::from_json(&text);
    let document = document.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let urls = || document.stores.iter().map(|verdict| verdict.url.as_str());
    if !urls().any(|url| stores.iter().any(|store| store == url)) {
        let urls: Vec<&str> = urls().collect();
        let why = format!(
            "{shown} has no verdict about these stores (it has: {})",
            urls.join(", ")
        );
        return Err(Failure::usage(why));
    }
    Ok(document)
}
