//! Whether a person sits in front of it.

use std::{
    fs::File,
    io::{self, IsTerminal as _},
};

use rustix::{io::Errno, process::getpgrp, termios::tcgetpgrp};

/// Whether stdin is our terminal, which decides about process groups and signals.
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
        if is_stdin() || is_in_foreground() {
            Self::Present
        } else {
            Self::Absent
        }
    }
}

/// Whether stdin is the terminal of our session. After `setsid` it is still a terminal, but
/// none that sends us its keys.
fn is_stdin() -> bool {
    let stdin = io::stdin();
    stdin.is_terminal() && !matches!(tcgetpgrp(stdin), Err(Errno::NOTTY))
}

/// Whether our process group is the one that may read the terminal. With `… | dlock run …` stdin is a pipe, but
/// the command may read a password from the terminal. In a group of its own it would be stopped for that.
fn is_in_foreground() -> bool {
    File::open("/dev/tty")
        .ok()
        .and_then(|terminal| tcgetpgrp(terminal).ok())
        // Not without a terminal: the first process of a container may be in a group that is not visible there.
        .is_some_and(|foreground| foreground == getpgrp())
}
