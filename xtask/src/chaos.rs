//! `cargo xtask chaos`: every fault of every store, on real servers.

use std::ffi::OsString;

use crate::{command::Tool, failure::Failure, setup, step::complain};

/// Runs setup, then becomes the program of the crate `dlock-chaos`: signals and the exit code are its own. Returns only
/// when that fails.
pub(crate) fn become_it(arguments: &[OsString]) -> Failure {
    if let Err(failure) = setup::run() {
        complain(&format!("warning: {failure}"));
    }
    Tool::cargo("run --quiet --package dlock-chaos --")
        .args(arguments)
        .replace()
}
