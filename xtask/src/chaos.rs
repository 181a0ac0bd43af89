//! `cargo xtask chaos`: every fault of every store, on real servers.

use std::ffi::OsString;

use crate::{command::Tool, failure::Result, setup, step::complain};

/// Runs setup, then [`cargo_run`].
///
/// # Errors
///
/// As [`cargo_run`].
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    if let Err(failure) = setup::run() {
        complain(&format!("warning: {failure}"));
    }
    cargo_run(arguments)
}

/// Runs the crate `dlock-chaos` with `arguments`.
///
/// # Errors
///
/// When a store broke a promise that no exception declares, or a fault never bit.
pub(crate) fn cargo_run(arguments: &[OsString]) -> Result<()> {
    Tool::cargo("run --quiet --package dlock-chaos --")
        .args(arguments)
        .run()
}
