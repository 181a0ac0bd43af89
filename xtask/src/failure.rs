//! Why a task stopped, in one line.

use std::fmt;

/// The result of everything in xtask.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// One line that says what went wrong and, where there is one, the command to run by hand.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
