//! `dlock run` on real servers: one that is down when it starts, and one that is new to dlock.

mod fresh;
mod server;
mod support;
mod unreachable;

use std::process::ExitCode;

/// How many cases run at once.
const THREADS: usize = 3;

fn main() -> ExitCode {
    let mut trials = unreachable::trials();
    trials.extend(fresh::trials());
    dlock_verify::support::main(THREADS, trials)
}
