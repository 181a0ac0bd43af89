//! Changes that a watch reports.

use crate::keys::FileName;

/// A change that may concern holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This file was removed, renamed or replaced.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only inotify reports it")
    )]
    File(FileName),
    /// Anything: the directory itself changed, or events were dropped.
    Anything,
}
