//! The conformance suite on layers over memories.

mod migrate;
mod quorum;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut targets = migrate::targets();
    targets.extend(quorum::targets());
    conformance_tests::main(targets)
}
