//! The entry point of a test binary.

use std::{process::ExitCode, sync::Arc};

use dlock_verify::support::tested;
use libtest_mimic::Arguments;

use crate::{suite::suite, target::Target, worker};

/// How many cases run at once unless `--test-threads` says otherwise: they mostly wait, so more than
/// there are processors, but each process and runtime more makes the machine's pauses longer.
const THREADS: usize = 6;

/// Runs the [`suite`] of each target as the arguments of the program say, which are those of every
/// Rust test binary; or serves as a worker process, when started as one.
///
/// The targets are dropped before it returns, so a target may stop its server then.
#[must_use]
pub fn main(targets: Vec<Arc<dyn Target>>) -> ExitCode {
    if let Some(code) = worker::serve_if_asked(&targets) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = targets
        .iter()
        .flat_map(|target| tested(target.name(), target.available(), suite(target.clone())))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
