//! The text of `--version`.

use dlock::config::Registry;

/// The version, and the schemes of `registry`.
pub(super) fn text(registry: &Registry) -> String {
    let schemes: Vec<_> = registry.schemes().collect();
    format!(
        "{}\nstores: {}",
        env!("CARGO_PKG_VERSION"),
        schemes.join(", ")
    )
}
