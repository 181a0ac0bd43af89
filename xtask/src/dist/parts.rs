//! Names and tools that several parts need.

use crate::{command::Tool, failure::Result};

/// The program's name in the folder.
pub(crate) const PROGRAM: &str = "dlock";

/// The examples of systemd and cron, and what else is shipped as it is.
pub(super) const PACKAGING: &str = "dlock-cli/packaging";

/// Installs the subcommand `name` of cargo if it is missing.
///
/// # Errors
///
/// When it cannot be built.
pub(super) fn install(name: &str) -> Result<()> {
    if Tool::cargo(&format!("{name} --version")).succeeds() {
        return Ok(());
    }
    Tool::cargo(&format!("install --quiet --locked cargo-{name}")).run()
}
