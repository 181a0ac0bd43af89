//! The program `dlock`, with the stores that are built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    dlock_cli::main(dlock::registry())
}
