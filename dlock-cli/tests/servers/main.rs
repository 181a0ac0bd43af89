//! `dlock run` on real servers that are down when it starts.

mod server;
mod support;
mod unreachable;

use std::process::ExitCode;

/// How many cases run at once.
const THREADS: usize = 3;

fn main() -> ExitCode {
    dlock_verify::support::main(THREADS, unreachable::trials())
}
