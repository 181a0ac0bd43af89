//! `cargo deny`, which is built when it is missing, and the advisories about dependencies.

use crate::{command::Tool, deny, failure::Result, step::skip};

/// Installs `cargo deny` if it is missing, and checks licences, sources and duplicates.
///
/// # Errors
///
/// When it cannot be built, or a dependency breaks a rule of `deny.toml`.
pub(super) fn rules() -> Result<()> {
    if !deny::is_there() {
        Tool::cargo("install --quiet --locked cargo-deny").run()?;
    }
    deny::check("licenses bans sources")
}

/// Checks the advisories, where their database can be fetched.
///
/// # Errors
///
/// When there is an advisory that `deny.toml` does not name.
pub(super) fn run() -> Result<()> {
    if !deny::is_there() {
        skip("advisories", "cargo-deny is not installed");
        return Ok(());
    }
    if !Tool::cargo("deny fetch db").succeeds() {
        skip("advisories", "their database cannot be fetched here");
        return Ok(());
    }
    deny::check("advisories")
}
