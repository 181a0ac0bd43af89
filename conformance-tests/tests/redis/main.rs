//! Redis under faults, on every server that speaks it: cases named after the failure modes (`t01` …)
//! and the clauses (`k01` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod batches;
mod clocks;
mod closing;
mod cluster;
mod connecting;
mod counting;
mod dropped;
mod endings;
mod foreign;
mod kit;
mod line;
mod lost_acquires;
mod lost_endings;
mod memory;
mod outages;
mod partitions;
mod pauses;
mod restarts;
mod roles;
mod scripts;
mod sentinel;
mod slots;
mod slow;
mod tls;
mod tokens;
mod unpolled;
mod users;
mod wake_ups;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use conformance_tests::servers::{SetClock, redis::Flavour};
use libtest_mimic::{Arguments, Trial};

/// What must be there: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// What the cases with a clock of their own need besides a server.
const CLOCK: &str = "libfaketime";

/// Cases mostly wait, but the machine may have two processors, and some measure how long.
const THREADS: usize = 8;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let has_clock = is_tested(CLOCK, SetClock::library());
    let trials = Flavour::ALL.into_iter().flat_map(|flavour| {
        let has_server = is_tested(flavour.name(), flavour.find());
        let ignored = move |trial: Trial, tested: bool| trial.with_ignored_flag(!tested);
        let timed = (flavour == Flavour::RedisStable).then(|| clocks::trials(flavour));
        let timed = timed.into_iter().flatten();
        let timed = timed.map(move |trial| ignored(trial, has_server && has_clock));
        let others = trials(flavour).into_iter();
        timed.chain(others.map(move |trial| ignored(trial, has_server)))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Whether what needs this is run: where it is missing but required, the cases fail.
fn is_tested<T>(name: &str, found: Result<T, String>) -> bool {
    let Err(why) = found else { return true };
    // A test that cannot run must not look like one that passed.
    let _ = writeln!(io::stderr(), "{name} is not tested: {why}");
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let mut required = required.split(',').map(str::trim);
    required.any(|word| word == "all" || word == name)
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        batches::trials,
        closing::trials,
        cluster::trials,
        connecting::trials,
        counting::trials,
        dropped::trials,
        endings::trials,
        foreign::trials,
        lost_acquires::trials,
        lost_endings::trials,
        memory::trials,
        outages::trials,
        partitions::trials,
        pauses::trials,
        restarts::trials,
        roles::trials,
        scripts::trials,
        sentinel::trials,
        slots::trials,
        slow::trials,
        tls::trials,
        tokens::trials,
        unpolled::trials,
        users::trials,
        wake_ups::trials,
    ];
    groups.iter().flat_map(|group| group(flavour)).collect()
}
