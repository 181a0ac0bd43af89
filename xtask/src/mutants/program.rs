//! Which test programs a column has for a crate.

use std::path::Path;

use super::{
    column::Column,
    definition::{Killer, Mutant},
};
use crate::metadata::{Metadata, Package};

/// The names of the unit tests of a library, and of a program, among the test programs of a package.
pub(super) const LIB: &str = "lib";
pub(super) const BIN: &str = "bin";

/// The conformance cases of a crate. One version of its store is enough.
const CONFORMANCE: &[(&str, &str)] = &[
    ("dlock-core", "memory::"),
    ("dlock-etcd", "etcd-stable::"),
    ("dlock-file", "file::"),
    ("dlock-mysql", "mariadb-stable::"),
    ("dlock-redis", "redis-stable::"),
    ("dlock-zk", "zk-stable::"),
];

/// The test programs that run their tests on each version of a store, with one version.
const VERSIONS: &[(&str, &str)] = &[
    ("etcd", "etcd-stable::"),
    ("mysql", "mariadb-stable::"),
    ("redis", "redis-stable::"),
    ("zk", "zk-stable::"),
];

/// The package of the column [`Column::Chaos`], and the name of its program here.
const CHAOS_PACKAGE: &str = "dlock-chaos";
pub(super) const CHAOS: &str = "chaos";

/// The words that chaos is run with, for each crate. Core has a store with a lease and one with sessions.
const CHAOS_WORDS: &[(&str, &str)] = &[
    ("dlock-core", "redis zk --ci"),
    ("dlock-etcd", "etcd --ci"),
    ("dlock-file", "file --ci"),
    ("dlock-mysql", "mysql --ci"),
    ("dlock-redis", "redis --ci"),
    ("dlock-zk", "zk --ci"),
];

/// The crates that the simulation runs.
const SIMULATED: &[&str] = &["dlock-core", "dlock-verify"];

/// The tests of `column` that may report `mutant`, in the order in which they are run. None, if the column
/// does not reach its crate.
pub(super) fn programs(metadata: &Metadata, mutant: &Mutant, column: Column) -> Vec<Killer> {
    let package = package_of(metadata, mutant);
    let name = package.map_or("", |package| package.name.as_str());
    match column {
        Column::Suite => {
            let own = package.into_iter().flat_map(test_programs);
            let cases = CONFORMANCE.iter().filter(|(of, _)| *of == name);
            let cases = cases.map(|(_, cases)| killer("conformance-tests", "conformance", cases));
            let first = mutant.killer.clone();
            // Then the rest of its program, which is built already.
            let (same, other): (Vec<_>, Vec<_>) = own.chain(cases).partition(|tests| {
                (&tests.package, &tests.program) == (&first.package, &first.program)
            });
            [first].into_iter().chain(same).chain(other).collect()
        }
        Column::Simulation if SIMULATED.contains(&name) => {
            vec![killer("dlock-verify", "simulation", "")]
        }
        Column::Simulation => Vec::new(),
        Column::Chaos => {
            let words = CHAOS_WORDS.iter().find(|(of, _)| *of == name);
            let words = words.map(|(_, words)| killer(CHAOS_PACKAGE, CHAOS, words));
            words.into_iter().collect()
        }
    }
}

/// Whether the workspace has what `column` runs.
pub(super) fn has(metadata: &Metadata, column: Column) -> bool {
    let is_chaos = |package: &Package| package.name == CHAOS_PACKAGE;
    column != Column::Chaos || metadata.packages.iter().any(is_chaos)
}

/// Whether `killer` names a test program of the workspace.
pub(super) fn is_there(metadata: &Metadata, killer: &Killer) -> bool {
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name == killer.package);
    package.is_some_and(|package| {
        test_programs(package).any(|program| program.program == killer.program)
    })
}

fn package_of<'a>(metadata: &'a Metadata, mutant: &Mutant) -> Option<&'a Package> {
    let folder = metadata.workspace_root.join(mutant.crate_folder());
    metadata
        .packages
        .iter()
        .find(|package| package.directory() == folder)
}

/// All test programs of a package. The unit tests first: they are the quickest.
fn test_programs(package: &Package) -> impl Iterator<Item = Killer> {
    let kinds = |kind: &'static str| {
        let targets = package.targets.iter();
        targets.filter(move |target| target.kind.iter().any(|is| is == kind))
    };
    let units = [LIB, BIN].into_iter();
    let units = units.filter(move |unit| kinds(unit).next().is_some());
    let units = units.map(|unit| killer(&package.name, unit, ""));
    let tests = kinds("test").map(|target| {
        let version = VERSIONS.iter().find(|(program, _)| *program == target.name);
        let version = version.map_or("", |(_, version)| version);
        killer(&package.name, &target.name, version)
    });
    units.chain(tests)
}

fn killer(package: &str, program: &str, test: &str) -> Killer {
    Killer {
        package: package.to_owned(),
        program: program.to_owned(),
        test: test.to_owned(),
    }
}

/// The folder of a package in a copy of the workspace.
pub(super) fn folder_of<'a>(metadata: &'a Metadata, package: &str) -> &'a Path {
    let found = metadata.packages.iter().find(|found| found.name == package);
    let folder = found.map_or_else(|| Path::new(""), Package::directory);
    folder
        .strip_prefix(&metadata.workspace_root)
        .unwrap_or(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::definition::tests::mutant;

    fn metadata() -> Metadata {
        let json = r#"{"workspace_root": "/repo", "packages": [{
            "name": "dlock-core", "manifest_path": "/repo/dlock-a/Cargo.toml", "targets": [
                {"name": "it", "kind": ["test"], "src_path": ""},
                {"name": "dlock_a", "kind": ["lib"], "src_path": ""}
            ]
        }]}"#;
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_expected_test_is_first_then_its_program_then_the_others() {
        let found = programs(&metadata(), &mutant(), Column::Suite);
        let names: Vec<_> = found
            .iter()
            .map(|found| format!("{}/{}", found.program, found.test))
            .collect();
        assert_eq!(names, ["lib/k04", "lib/", "it/", "conformance/memory::"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_known() {
        assert!(is_there(&metadata(), &killer("dlock-core", "it", "x")));
        assert!(!is_there(&metadata(), &killer("dlock-core", "redis", "x")));
        assert!(!is_there(&metadata(), &killer("dlock-b", "lib", "x")));
    }
}
