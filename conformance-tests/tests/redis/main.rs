//! Redis under faults, on every server that speaks it: cases named after the failure modes (`t01` …)
//! and the clauses (`k01` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod clocks;
mod cluster;
mod connecting;
mod counting;
mod dropped;
mod endings;
mod foreign;
mod kit;
mod lost_replies;
mod memory;
mod outages;
mod partitions;
mod restarts;
mod roles;
mod scripts;
mod sentinel;
mod slow;
mod tls;
mod tokens;
mod wake_ups;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use conformance_tests::servers::redis::Flavour;
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
    let missing = flavour.find().err();
    if let Some(why) = &missing {
        // A test that cannot run must not look like one that passed.
        let _ = writeln!(io::stderr(), "{} is not tested: {why}", flavour.name());
    }
    let groups = [
        clocks::trials,
        cluster::trials,
        connecting::trials,
        counting::trials,
        dropped::trials,
        endings::trials,
        foreign::trials,
        lost_replies::trials,
        memory::trials,
        outages::trials,
        partitions::trials,
        restarts::trials,
        roles::trials,
        scripts::trials,
        sentinel::trials,
        slow::trials,
        tls::trials,
        tokens::trials,
        wake_ups::trials,
    ];
    let trials = groups.iter().flat_map(|group| group(flavour));
    trials
        .map(|trial| {
            let ignored = trial.has_ignored_flag() || (missing.is_some() && !required);
            trial.with_ignored_flag(ignored)
        })
        .collect()
}
