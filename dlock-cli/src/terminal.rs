//! Whether a person sits in front of it.

use std::io::{self, IsTerminal as _};

/// Whether stdin is a terminal, which decides about process groups and signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// The command stays in dlock's process group, so that reading the terminal, Ctrl-C and Ctrl-Z
    /// work as without dlock. What the terminal sends to both is not passed on.
    Present,
    /// The command has a process group of its own, which all signals are passed on to.
    Absent,
}

impl Terminal {
    pub(crate) fn of_stdin() -> Self {
        if io::stdin().is_terminal() {
            Self::Present
        } else {
            Self::Absent
        }
    }
}
