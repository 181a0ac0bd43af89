//! The checks of files.

use crate::probe::finding::Check;

const EXCEPTIONS: &str = "dlock-file/README.md#exceptions";
const SETTINGS: &str = "dlock-file/README.md#settings";

pub(super) const DIRECTORY: Check = Check {
    id: "file.directory",
    setting: "the directory and its mode",
    clause: "K1",
    effect: "dlock refuses the directory",
    advice: "mkdir -m 0755 …",
    exception: None,
    readme: SETTINGS,
};

pub(super) const UNRECOGNIZED: Check = Check {
    id: "file.unrecognized",
    setting: "statfs: the file system",
    clause: "K1",
    effect: "machines that share the directory each grant the same lock",
    advice: "give a directory on a disk of this machine",
    exception: Some("file.unrecognized"),
    readme: EXCEPTIONS,
};

pub(super) const REMOVED: Check = Check {
    id: "file.removed",
    setting: "the path of the directory",
    clause: "K1",
    effect: "the system may remove old files: a new one is another lock",
    advice: "give a directory that is not temporary, as in file:/var/lock/app",
    exception: Some("file.removed"),
    readme: EXCEPTIONS,
};

pub(super) const NO_INOTIFY: Check = Check {
    id: "file.no-inotify",
    setting: "fs.inotify.max_user_instances, max_user_watches",
    clause: "K6",
    effect: "waiters poll, and a removed file is noticed later",
    advice: "sysctl fs.inotify.max_user_instances=512",
    exception: Some("file.no-inotify"),
    readme: EXCEPTIONS,
};

pub(super) const DISK: Check = Check {
    id: "file.disk",
    setting: "statfs: free blocks and inodes",
    clause: "K6",
    effect: "a grant cannot write its token when the disk is full",
    advice: "free disk space",
    exception: None,
    readme: SETTINGS,
};

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[DIRECTORY, UNRECOGNIZED, REMOVED, NO_INOTIFY, DISK];
