//! The end of the program: an exit code for scripts, a line for people.

use std::process::{ExitCode, ExitStatus};

use dlock::{Error, ErrorKind};
use rustix::process::Signal;

/// The exit code of `dlock`. The named ones are those of sysexits(3) and of shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// All went well; for `inspect`, the lock is held; for `verify`, everything holds.
    pub(crate) const OK: Self = Self(0);
    /// `inspect`: the lock is free.
    pub(crate) const FREE: Self = Self(1);
    /// `bench --compare`: the new run is worse than allowed.
    pub(crate) const WORSE: Self = Self(1);
    /// `verify`: a clause fails, or there is a danger.
    pub(crate) const FAILS: Self = Self(1);
    /// `verify`, `bench`: something is not known.
    pub(crate) const UNKNOWN: Self = Self(2);
    /// Wrong usage or configuration; trying again will not help.
    pub(crate) const USAGE: Self = Self(64);
    /// The store could not be reached; trying again later may help.
    pub(crate) const UNAVAILABLE: Self = Self(69);
    /// A defect in dlock, or the system refused something that it never should.
    pub(crate) const INTERNAL: Self = Self(70);
    /// The lock was not acquired in time.
    pub(crate) const CONTENDED: Self = Self(75);
    /// The lock was lost, or about to be, before the command ended.
    pub(crate) const LOST: Self = Self(76);
    /// The command is there but cannot be executed.
    pub(crate) const NOT_EXECUTABLE: Self = Self(126);
    /// The command is not there.
    pub(crate) const NOT_FOUND: Self = Self(127);

    /// The end by `signal`, as shells report it: 128 + its number.
    pub(crate) fn by_signal(signal: Signal) -> Self {
        Self::by_raw_signal(signal.as_raw())
    }

    /// The command's own end.
    pub(crate) fn of_command(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self(u8::try_from(code).unwrap_or(u8::MAX)),
            (None, Some(signal)) => Self::by_raw_signal(signal),
            (None, None) => Self::INTERNAL,
        }
    }

    /// The number, as the system gets it.
    pub(crate) fn code(self) -> i32 {
        self.0.into()
    }

    fn by_raw_signal(signal: i32) -> Self {
        Self(u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Contended => Self::CONTENDED,
            ErrorKind::Lost => Self::LOST,
            ErrorKind::Unavailable => Self::UNAVAILABLE,
            // A wrong password or a missing permission stays wrong however often it is tried.
            ErrorKind::Denied
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidConfig
            | ErrorKind::Unsupported => Self::USAGE,
            _ => Self::INTERNAL,
        }
    }
}

/// Why the program cannot go on: the code to end with and the line to print.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::USAGE, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.kind().into(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn the_code_of_the_command_comes_back() {
        assert_eq!(Exit::of_command(ExitStatus::from_raw(7 << 8)), Exit(7));
        assert_eq!(Exit::of_command(ExitStatus::from_raw(255 << 8)), Exit(255));
    }

    #[test]
    fn a_signal_is_128_and_its_number() {
        assert_eq!(Exit::of_command(ExitStatus::from_raw(9)), Exit(137));
        assert_eq!(Exit::by_signal(Signal::INT), Exit(130));
        assert_eq!(Exit::by_signal(Signal::TERM), Exit(143));
    }

    #[test]
    fn each_kind_of_error_has_its_code() {
        let codes = [
            (ErrorKind::Contended, 75),
            (ErrorKind::Lost, 76),
            (ErrorKind::Unavailable, 69),
            (ErrorKind::Denied, 64),
            (ErrorKind::InvalidInput, 64),
            (ErrorKind::InvalidConfig, 64),
            (ErrorKind::Unsupported, 64),
            (ErrorKind::Internal, 70),
        ];
        for (kind, code) in codes {
            assert_eq!(Exit::from(kind), Exit(code), "{kind:?}");
        }
    }
}
