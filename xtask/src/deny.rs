//! Licences, sources and duplicates of the dependencies, by `deny.toml`.

use crate::{
    command::Tool,
    failure::Result,
    step::{skip, step},
};

/// Runs `cargo deny` where it is installed; `cargo xtask nightly` installs it.
///
/// The advisories are left out: their database is a download of its own, and news about a dependency
/// must not turn an unchanged commit red.
///
/// # Errors
///
/// When a dependency breaks a rule of `deny.toml`.
pub(crate) fn run() -> Result<()> {
    if !is_there() {
        skip("deny", "cargo-deny is not installed");
        return Ok(());
    }
    step("deny", || check("licenses bans sources"))
}

/// Whether `cargo deny` is installed.
pub(crate) fn is_there() -> bool {
    Tool::cargo("deny --version").succeeds()
}

/// Runs the checks of `cargo deny` that `which` names.
///
/// # Errors
///
/// When one of them finds something.
pub(crate) fn check(which: &str) -> Result<()> {
    Tool::cargo("deny check")
        .args(which.split_whitespace())
        .run()
}
