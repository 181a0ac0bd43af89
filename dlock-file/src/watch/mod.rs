//! Events of the file system: inotify on Linux, none elsewhere.
//!
//! One descriptor serves all names. The directory is watched for removed and replaced files. Each file with a
//! waiter is watched for a close by a process that may have held it.

use std::time::Duration;

pub(crate) mod change;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod poll;
pub(crate) mod task;

#[cfg(target_os = "linux")]
pub(crate) use self::inotify::{Events, Subscription, Watcher};
#[cfg(not(target_os = "linux"))]
pub(crate) use self::poll::{Events, Subscription, Watcher};

/// Waiters and the task check so often in spite of the watch. Some changes have no event: a renamed parent
/// directory, or an event that was dropped.
pub(crate) const RECHECK_EVERY: Duration = Duration::from_millis(900);
