//! MySQL and MariaDB under faults: cases named after the failure modes (`t60` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod clocks;
mod connecting;
mod endings;
mod failover;
mod holder;
mod kills;
mod kit;
mod sharing;
mod tokens;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use conformance_tests::servers::{SetClock, mysql::Flavour};
use libtest_mimic::{Arguments, Trial};

/// What must be there: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// What the cases with a clock of their own need besides a server.
const CLOCK: &str = "libfaketime";

/// Each case has a server of its own, which takes seconds of a processor to make.
const THREADS: usize = 4;

fn main() -> ExitCode {
    if let Some(code) = holder::serve_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let has_clock = is_tested(CLOCK, SetClock::library());
    let trials = Flavour::ALL.into_iter().flat_map(|flavour| {
        let has_server = is_tested(flavour.name(), flavour.find());
        let ignored = move |trial: Trial, tested: bool| trial.with_ignored_flag(!tested);
        let timed = clocks::trials(flavour).into_iter();
        let timed = timed.map(move |trial| ignored(trial, has_server && has_clock));
        let others = trials(flavour).into_iter();
        timed.chain(others.map(move |trial| ignored(trial, has_server)))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Whether what needs this is run: where it is missing but required, the cases fail.
fn is_tested<T>(name: &str, found: Result<T, String>) -> bool {
    let Err(why) = found else {
        return true;
    };
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let mut required = required.split(',').map(str::trim);
    if required.any(|one| one == "all" || one == name) {
        return true;
    }
    // Nothing depends on it.
    let _ = writeln!(io::stderr(), "{name}: ignored: {why}");
    false
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let files = [
        connecting::trials(flavour),
        endings::trials(flavour),
        failover::trials(flavour),
        kills::trials(flavour),
        sharing::trials(flavour),
        tokens::trials(flavour),
    ];
    files.into_iter().flatten().collect()
}
