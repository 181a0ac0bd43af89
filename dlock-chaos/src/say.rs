//! The output.

use std::io::{self, Write as _};

/// Prints a line about a store. Nothing depends on it.
pub(crate) fn say(store: &str, line: &str) {
    let _ = writeln!(io::stdout().lock(), "{store:<7} {line}");
}
