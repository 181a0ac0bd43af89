//! `docs/observability` and the tables of metrics name what dlock records, and nothing else.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::PathBuf,
    process::Command,
};

use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::recorded::kinds;

/// The files whose metrics must exist.
const FILES: &[&str] = &[
    "docs/observability/README.md",
    "docs/observability/alerts.yml",
    "docs/observability/alerts_test.yml",
    "docs/observability/grafana.json",
];

const DASHBOARD: &str = "docs/observability/grafana.json";

/// The files that have every metric: the dashboard, and two tables.
const WHOLE: &[&str] = &[DASHBOARD, "docs/operations.md", "dlock/src/lib.rs"];

/// The program of Prometheus that checks rules.
const PROMTOOL: &str = "promtool";

/// The endings that Prometheus adds to the name of a histogram.
const OF_HISTOGRAMS: &[&str] = &["_bucket", "_sum", "_count"];

pub(crate) async fn names() -> Outcome {
    let known = known().await?;
    ensure!(known.contains("dlock_lost_total"), "{known:?}");
    for path in FILES {
        let unknown: Vec<_> = names_in(&read(path)?).difference(&known).cloned().collect();
        ensure!(
            unknown.is_empty(),
            "{path} has {unknown:?}, which dlock does not record"
        );
    }
    let metrics = kinds().await?;
    for path in WHOLE {
        let named = names_in(&read(path)?);
        let is_named = |name: &&String| {
            let of_histogram = OF_HISTOGRAMS.iter().map(|part| format!("{name}{part}"));
            named.contains(*name) || of_histogram.into_iter().any(|part| named.contains(&part))
        };
        let missing: Vec<_> = metrics.keys().filter(|name| !is_named(name)).collect();
        ensure!(missing.is_empty(), "{path} lacks {missing:?}");
    }
    Ok(())
}

pub(crate) async fn dashboard() -> Outcome {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)?)?;
    let panels = dashboard["panels"].as_array().ok_or("no panels")?;
    let ids: BTreeSet<_> = panels
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    ensure!(
        ids.len() == panels.len(),
        "panels without an id of their own"
    );
    for panel in panels {
        let title = panel["title"].as_str().ok_or("a panel without a title")?;
        let targets = panel["targets"].as_array().ok_or("no targets")?;
        let exprs: Vec<_> = targets
            .iter()
            .filter_map(|target| target["expr"].as_str())
            .collect();
        ensure!(
            !exprs.is_empty() && exprs.len() == targets.len(),
            "{title} shows nothing"
        );
        for expr in exprs {
            ensure!(!names_in(expr).is_empty(), "{title}: {expr}");
        }
    }
    Ok(())
}

/// The trial `promtool`, ignored where that is not installed: `cargo xtask setup` leaves it out, as it is large.
pub(crate) fn if_installed(trial: Trial) -> Trial {
    let has_promtool = Command::new(PROMTOOL).arg("--version").output().is_ok();
    if !has_promtool {
        // A test that cannot run must not appear as one that passed. Nothing depends on this line.
        let _ = writeln!(
            io::stderr(),
            "the alert rules are not run: promtool is not installed (on Debian: the package prometheus)"
        );
    }
    trial.with_ignored_flag(!has_promtool)
}

pub(crate) async fn promtool() -> Outcome {
    let folder = path("docs/observability");
    for words in [
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts_test.yml"],
    ] {
        let output = Command::new(PROMTOOL)
            .args(words)
            .current_dir(&folder)
            .output()?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
    }
    Ok(())
}

/// Every name that Prometheus has of a metric of dlock.
async fn known() -> Outcome<BTreeSet<String>> {
    let kinds = kinds().await?;
    let names = kinds.into_iter().flat_map(|(name, kind)| {
        let parts = if kind == "histogram" {
            OF_HISTOGRAMS
        } else {
            &[]
        };
        let parts: Vec<_> = parts.iter().map(|part| format!("{name}{part}")).collect();
        [name].into_iter().chain(parts)
    });
    Ok(names.collect())
}

/// The words of `text` that begin with `dlock_`.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("dlock_"));
    ours.map(str::to_owned).collect()
}

fn read(name: &str) -> Outcome<String> {
    let text = fs::read_to_string(path(name));
    Ok(text.map_err(|error| format!("{name}: {error}"))?)
}

/// A file of the repository.
fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", name].iter().collect()
}
