//! `cargo dlock …`: the program, built when it is needed.

use std::{env, ffi::OsString};

use crate::{command::Tool, failure::Failure};

/// Builds `dlock` and becomes it, in the caller's directory. Returns only when that fails.
///
/// It is a debug build: the first run on a fresh machine does not wait for the optimiser.
pub(crate) fn become_it(arguments: &[OsString]) -> Failure {
    let cargo = Tool::cargo("run --package dlock-cli --bin dlock");
    // The first build takes a minute or two, and cargo shows how far it is; later ones are silent.
    let cargo = if was_built() {
        cargo.args(["--quiet"])
    } else {
        cargo
    };
    cargo.args(["--"]).args(arguments).replace()
}

/// Whether the program lies beside xtask, where cargo puts both.
fn was_built() -> bool {
    env::current_exe().is_ok_and(|xtask| xtask.with_file_name("dlock").exists())
}
