//! The system's error → kind, effect and what to do about it.

use std::{io, path::Path};

use dlock_core::{Effect, Error, ErrorKind};
use rustix::io::Errno;

/// The backend's name in errors and metrics.
pub(crate) const BACKEND: &str = "file";

/// Describes `path` and the system's `error` as an error of dlock.
///
/// The effect is always [`Effect::None`]. A call into the local system ends before it returns, and a descriptor
/// that is closed on the way out takes its lock with it.
pub(crate) fn of_io(path: &Path, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let (kind, hint) = Errno::from_io_error(&error).map_or(OTHER, of_errno);
    Error::new(kind, format!("{}: {hint}", path.display()))
        .with_effect(Effect::None)
        .with_source(error)
}

const OTHER: (ErrorKind, &str) = (
    ErrorKind::Unavailable,
    "the file system failed; check the system's log",
);

fn of_errno(errno: Errno) -> (ErrorKind, &'static str) {
    match errno {
        Errno::ACCESS | Errno::PERM => (
            ErrorKind::Denied,
            "not allowed; run as the user who owns the directory and its files",
        ),
        Errno::ROFS => (
            ErrorKind::Denied,
            "the file system is read-only; choose a directory elsewhere",
        ),
        Errno::NOENT => (
            ErrorKind::Unavailable,
            "the directory is gone; it must not be removed",
        ),
        Errno::NOSPC | Errno::DQUOT => (ErrorKind::Unavailable, "no space left; free some"),
        Errno::MFILE => (
            ErrorKind::Unavailable,
            "this process has too many open files; raise its limit (ulimit -n)",
        ),
        Errno::NFILE => (
            ErrorKind::Unavailable,
            "this machine has too many open files; raise its limit (sysctl fs.file-max)",
        ),
        Errno::NOLCK | Errno::NOMEM => (
            ErrorKind::Unavailable,
            "the system has no room for another lock; try again later",
        ),
        Errno::NOTDIR => (
            ErrorKind::InvalidConfig,
            "this is no directory; choose another one",
        ),
        Errno::NAMETOOLONG => (
            ErrorKind::InvalidConfig,
            "the path is too long; choose a shorter directory",
        ),
        Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::SPIPE => (
            ErrorKind::Internal,
            "a lock file must be a plain file; remove what is there",
        ),
        Errno::NOSYS | Errno::OPNOTSUPP => (
            ErrorKind::Unsupported,
            "this file system has no flock(2); choose a directory elsewhere",
        ),
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_kind_and_no_effect() {
        use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};
        let table = [
            (Errno::ACCESS, Denied),
            (Errno::PERM, Denied),
            (Errno::ROFS, Denied),
            (Errno::NOENT, Unavailable),
            (Errno::NOSPC, Unavailable),
            (Errno::DQUOT, Unavailable),
            (Errno::MFILE, Unavailable),
            (Errno::NFILE, Unavailable),
            (Errno::NOLCK, Unavailable),
            (Errno::NOMEM, Unavailable),
            (Errno::IO, Unavailable),
            (Errno::STALE, Unavailable),
            (Errno::NOTDIR, InvalidConfig),
            (Errno::NAMETOOLONG, InvalidConfig),
            (Errno::LOOP, Internal),
            (Errno::ISDIR, Internal),
            (Errno::NXIO, Internal),
            (Errno::SPIPE, Internal),
            (Errno::NOSYS, Unsupported),
            (Errno::OPNOTSUPP, Unsupported),
        ];
        for (errno, kind) in table {
            let error = of_io(Path::new("/d/a.lock"), errno);
            assert_eq!(
                (error.kind(), error.effect()),
                (kind, Effect::None),
                "{errno:?}"
            );
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn the_line_says_where_and_what_to_do() {
        let error = of_io(Path::new("/d/a.lock"), Errno::NOSPC).to_string();
        let line = "/d/a.lock: no space left; free some: No space left on device (os error 28)";
        assert_eq!(error, line);
    }

    #[test]
    fn an_error_without_a_number_is_unavailable() {
        let error = of_io(Path::new("/d"), io::Error::other("odd"));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}
