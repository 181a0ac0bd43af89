//! The lines that this program prints.

use std::io::{self, Write as _};

/// Prints a line. A reader that stops early stops no measurement.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line that needs an action.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
