//! How this process is told of changes: inotify on Linux, nothing elsewhere.
//!
//! One descriptor serves all names. The directory is watched for removed and replaced files, each file
//! that is waited for is watched for being closed by somebody who could have held it.

pub(crate) mod task;

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod poll;

#[cfg(target_os = "linux")]
pub(crate) use self::inotify::{Events, Subscription, Watcher};
#[cfg(not(target_os = "linux"))]
pub(crate) use self::poll::{Events, Subscription, Watcher};

use crate::keys::FileName;

/// What may have happened to what is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This file was removed, renamed or replaced.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "told by inotify only")
    )]
    File(FileName),
    /// Anything: the directory itself changed, or events were dropped.
    Anything,
}
