//! Whether a person sits in front of it.

use std::{
    fs::File,
    io::{self, IsTerminal as _},
};

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
    pub(crate) fn of_process() -> Self {
        if io::stdin().is_terminal() || is_in_foreground() {
            Self::Present
        } else {
            Self::Absent
        }
    }
}

/// Whether our process group is the one that may read the terminal. With `… | dlock run …` stdin is a
/// pipe, but the command may ask the terminal for a password; from a group of its own it would be
/// stopped for that.
fn is_in_foreground() -> bool {
    File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        == Some(rustix::process::getpgrp())
}
