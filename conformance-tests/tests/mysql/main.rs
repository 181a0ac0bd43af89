//! MySQL and MariaDB under faults: cases named after the failure modes (`t60` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod connecting;
mod endings;
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

use conformance_tests::servers::mysql::Flavour;
use libtest_mimic::{Arguments, Trial};

/// What must be there: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// Each case has a server of its own, which takes seconds of a processor to make.
const THREADS: usize = 4;

fn main() -> ExitCode {
    if let Some(code) = holder::serve_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = Flavour::ALL.into_iter().flat_map(|flavour| {
        let tested = is_tested(flavour);
        let trials = trials(flavour).into_iter();
        trials.map(move |trial| trial.with_ignored_flag(!tested))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Whether the server is there. One that must be there is tested anyway, and fails with the reason.
fn is_tested(flavour: Flavour) -> bool {
    let Err(why) = flavour.find() else {
        return true;
    };
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let mut required = required.split(',').map(str::trim);
    if required.any(|name| name == "all" || name == flavour.name()) {
        return true;
    }
    // Nothing depends on it.
    let _ = writeln!(io::stderr(), "{}: ignored: {why}", flavour.name());
    false
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let files = [
        connecting::trials(flavour),
        endings::trials(flavour),
        kills::trials(flavour),
        sharing::trials(flavour),
        tokens::trials(flavour),
    ];
    files.into_iter().flatten().collect()
}
