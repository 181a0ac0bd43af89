//! The part `dist`: makes all that is shipped, and tries it in roots that hold nothing else.

mod alone;
mod container;
mod debian;
mod root;
mod server;

use self::server::Redis;
use crate::{
    command::Tool,
    dist,
    failure::Result,
    metadata::Metadata,
    step::{skip, step},
};

/// Runs `cargo xtask dist`, and tries what it made.
///
/// # Errors
///
/// When a file is missing or does not work.
pub(super) fn run() -> Result<()> {
    dist::run()?;
    let root = Metadata::read()?.workspace_root;
    let shipped = dist::folder(&root);
    step("checksums are right", || {
        Tool::new("sha256sum")
            .args(["--check", "--quiet", "--strict", "SHA256SUMS"])
            .in_folder(&shipped)
            .run()
    })?;
    if Tool::new("id").args(["-u"]).read()?.trim_ascii() != b"0" {
        skip("roots", "they need root");
        return Ok(());
    }
    let redis = Redis::start(&root)?;
    step("alone in a root", || alone::run(&root, &redis))?;
    step("container", || container::run(&root, &redis))?;
    step("Debian", || debian::run(&root, &redis))
}
