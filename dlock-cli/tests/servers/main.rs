//! The program on real servers: one that is down when it starts, one that is new to dlock, a move of its locks, and a
//! quorum.

mod fresh;
mod migrate;
mod rights;
mod server;
mod support;
mod unfenced;
mod unreachable;

use std::process::ExitCode;

/// How many cases run at once.
const THREADS: usize = 3;

fn main() -> ExitCode {
    let mut trials = unreachable::trials();
    trials.extend(fresh::trials());
    trials.extend(migrate::trials());
    trials.extend(rights::trials());
    trials.extend(unfenced::trials());
    dlock_verify::support::main(THREADS, trials)
}
