//! The text of `--version`.

use std::sync::LazyLock;

use crate::base::schemes::registry;

/// The version, and the stores that are built in.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let schemes: Vec<_> = registry().schemes().collect();
        format!(
            "{}\nstores: {}",
            env!("CARGO_PKG_VERSION"),
            schemes.join(", ")
        )
    });
    &TEXT
}
