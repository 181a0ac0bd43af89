//! ZooKeeper under faults: cases named after the failure modes (`t40` …) and the clauses (`k01` …)
//! that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod connecting;
mod contact;
mod interop;
mod kit;
mod lost_replies;
mod partitions;
mod queues;
mod sessions;
mod strangers;
mod times;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use conformance_tests::servers::zk::Flavour;
use libtest_mimic::{Arguments, Trial};

/// Servers that must be there: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// Cases mostly wait, but the machine may have two processors, and a server takes some memory.
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
        connecting::trials,
        contact::trials,
        interop::trials,
        lost_replies::trials,
        partitions::trials,
        queues::trials,
        sessions::trials,
        strangers::trials,
        times::trials,
    ];
    let trials = groups.iter().flat_map(|group| group(flavour));
    trials
        .map(|trial| {
            let ignored = trial.has_ignored_flag() || (missing.is_some() && !required);
            trial.with_ignored_flag(ignored)
        })
        .collect()
}
