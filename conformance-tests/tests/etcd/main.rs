//! etcd under faults, on each version of it: cases named after the failure modes (`t20` …) and the
//! clauses (`k01` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod batches;
mod clusters;
mod connecting;
mod counting;
mod dropped;
mod endings;
mod foreign;
mod keeping;
mod kit;
mod lost_replies;
mod partitions;
mod space;
mod tls;
mod undoing;
mod unpolled;
mod users;
mod waiting;
mod writing;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use conformance_tests::servers::etcd::Flavour;
use libtest_mimic::{Arguments, Trial};

/// Servers that must be there: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// Cases mostly wait, but the machine may have two processors, and some measure how long.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = Flavour::ALL.into_iter().flat_map(trials).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let mut required = required.split(',').map(str::trim);
    let required = required.any(|word| word == "all" || word == flavour.name());
    let missing = flavour.find().and_then(|_| flavour.find_client()).err();
    if let Some(why) = &missing {
        // A test that cannot run must not look like one that passed.
        let _ = writeln!(io::stderr(), "{} is not tested: {why}", flavour.name());
    }
    let groups = [
        batches::trials,
        clusters::trials,
        connecting::trials,
        counting::trials,
        dropped::trials,
        endings::trials,
        foreign::trials,
        keeping::trials,
        lost_replies::trials,
        partitions::trials,
        space::trials,
        tls::trials,
        undoing::trials,
        unpolled::trials,
        users::trials,
        waiting::trials,
        writing::trials,
    ];
    let trials = groups.iter().flat_map(|group| group(flavour));
    let ignored = missing.is_some() && !required;
    trials
        .map(|trial| trial.with_ignored_flag(ignored))
        .collect()
}
