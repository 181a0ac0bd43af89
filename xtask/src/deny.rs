//! Licences, sources and duplicates of the dependencies, by `deny.toml`.

use crate::{
    command::Tool,
    failure::Result,
    step::{skip, step},
};

/// Runs `cargo deny` where it is installed. The advisories are left out: their database is a download
/// of its own, and news about a dependency must not turn an unchanged commit red.
///
/// # Errors
///
/// When a dependency breaks a rule of `deny.toml`.
pub(crate) fn run() -> Result<()> {
    if !Tool::cargo("deny --version").succeeds() {
        skip("deny", "cargo-deny is not installed");
        return Ok(());
    }
    step("deny", || {
        Tool::cargo("deny check licenses bans sources").run()
    })
}
