//! `cargo xtask nightly`: the checks that are slow to get or to run. They run before an issue is closed.

mod advisories;
mod dist;
mod packages;
mod pasted;

use crate::{
    command::Tool,
    failure::{Failure, Result},
    features, peers, setup,
    step::{complain, step},
};

/// Random walks of each setting in the model of dlock-redis; 4,000 in every run of the tests.
const MODEL_WALKS: &str = "1000000";

/// Moves between stores in the test of dlock-chaos, three of each pair; one in every run of the tests.
const MOVE_ROUNDS: &str = "12";

/// Every fault of the layers, on real servers. The backends have runs of their own, as `cargo xtask chaos` says.
const CHAOS: &str = "migrate migrate-after quorum --grants 4000 --minutes 5";

/// Kills of server and holder in the tests of dlock-mysql; one at each point in every run of the tests.
const KILL_ROUNDS: &str = "50";

/// The name that these tests begin with.
const KILL_TESTS: &str = "t69_tokens_grow_over_kills";

/// Adds groups of older servers, migrations between more stores and further quorums to the conformance suite.
const ALL_TARGETS: &str = "DLOCK_TEST_ALL_TARGETS";

/// Parts of the names of targets that are groups of servers.
const GROUPS: [&str; 3] = ["sentinel::", "cluster::", "ensemble::"];

/// The beginning of the names of migrations.
const MIGRATIONS: &str = "migrate-";

/// The beginning of the names of quorums.
const QUORUMS: &str = "quorum-";

/// A part of the run, by name.
type Part = (&'static str, fn() -> Result<()>);

const PARTS: &[Part] = &[
    ("deny", advisories::rules),
    ("advisories", advisories::run),
    ("features", features::each),
    ("packages", packages::build),
    ("doctests", packages::doctests),
    ("pasted", pasted::run),
    ("dist", dist::run),
    ("model", model),
    ("kills", kills),
    ("groups", || GROUPS.into_iter().try_for_each(conformance)),
    ("migrations", || conformance(MIGRATIONS)),
    ("quorums", || conformance(QUORUMS)),
    ("moves", moves),
    ("chaos", chaos),
    ("peers", || peers::run(&peers::Options::small())),
];

/// Runs setup, then the parts that `chosen` names, or all; also after one that failed.
///
/// # Errors
///
/// When a part failed: the names of all that did. When there is no part of a name.
pub(crate) fn run(chosen: &[String]) -> Result<()> {
    let parts = choose(PARTS, chosen)?;
    if let Err(failure) = setup::run() {
        complain(&format!("warning: {failure}"));
    }
    summary(&run_all(&parts))
}

fn choose(parts: &[Part], chosen: &[String]) -> Result<Vec<Part>> {
    let is_part = |name: &String| parts.iter().any(|(part, _)| part == name);
    if let Some(name) = chosen.iter().find(|name| !is_part(name)) {
        let names: Vec<_> = parts.iter().map(|(part, _)| *part).collect();
        return Err(Failure::new(format!(
            "no part {name} (allowed: {})",
            names.join(", ")
        )));
    }
    let is_chosen = |part: &&Part| chosen.is_empty() || chosen.iter().any(|name| name == part.0);
    Ok(parts.iter().filter(is_chosen).copied().collect())
}

/// The names of the parts that failed.
fn run_all(parts: &[Part]) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for (name, work) in parts {
        if let Err(failure) = step(name, work) {
            complain(&format!("failed  {failure}"));
            failed.push(*name);
        }
    }
    failed
}

fn summary(failed: &[&str]) -> Result<()> {
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "nightly: {} failed: {}",
        failed.len(),
        failed.join(", ")
    )))
}

fn model() -> Result<()> {
    Tool::cargo("test --quiet --release --package dlock-redis --test model")
        .env("DLOCK_MODEL_WALKS", MODEL_WALKS)
        .run()?;
    Tool::cargo("test --quiet --release --package dlock-layers --test model")
        .env("DLOCK_MODEL_BOUNDS", "large")
        .run()
}

fn moves() -> Result<()> {
    Tool::cargo("test --quiet --package dlock-chaos --test moving")
        .env("DLOCK_TEST_REQUIRE", "all")
        .env("DLOCK_TEST_ROUNDS", MOVE_ROUNDS)
        .run()
}

fn chaos() -> Result<()> {
    Tool::cargo("run --quiet --package dlock-chaos --")
        .args(CHAOS.split(' '))
        .run()
}

fn kills() -> Result<()> {
    Tool::cargo("test --quiet --workspace --tests")
        .args([KILL_TESTS])
        .env("DLOCK_TEST_REQUIRE", "all")
        .env("DLOCK_TEST_ROUNDS", KILL_ROUNDS)
        .run()
}

/// The conformance suite on all targets with this part of their names.
fn conformance(targets: &str) -> Result<()> {
    Tool::cargo("test --quiet --package conformance-tests --test conformance --")
        .args([targets])
        .env("DLOCK_TEST_REQUIRE", "all")
        .env(ALL_TARGETS, "yes")
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let parts: [Part; 2] = [("one", || Ok(())), ("two", || Ok(()))];
        let names = |chosen: &[&str]| {
            let chosen: Vec<_> = chosen.iter().map(|name| (*name).to_owned()).collect();
            choose(&parts, &chosen).map(|parts| parts.iter().map(|part| part.0).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["one", "two"]);
        assert_eq!(names(&["two"]).unwrap(), ["two"]);
        let failure = names(&["three"]).unwrap_err().to_string();
        assert_eq!(failure, "no part three (allowed: one, two)");
    }

    #[test]
    fn every_part_is_run_and_the_failed_ones_are_named() {
        let parts: [Part; 3] = [
            ("one", || Err(Failure::new("no"))),
            ("two", || Ok(())),
            ("three", || Err(Failure::new("no"))),
        ];
        let failed = run_all(&parts);
        assert_eq!(failed, ["one", "three"]);
        let failure = summary(&failed).unwrap_err().to_string();
        assert_eq!(failure, "nightly: 2 failed: one, three");
        assert!(summary(&[]).is_ok());
    }
}
