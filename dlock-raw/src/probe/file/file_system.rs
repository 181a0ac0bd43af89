//! The file system: whether other machines share it, its space, and its events.

use std::path::Path;

use rustix::fs::statvfs;

use super::checks;
use crate::probe::{finding::Severity, report::Report};

/// The part of the disk that must be free.
const FREE_MIN: f64 = 0.02;

pub(super) fn judge(directory: &Path, report: &mut Report) {
    judge_kind(directory, report);
    judge_space(directory, report);
    judge_events(report);
}

/// dlock-file has the list: it refuses what other machines share.
#[cfg(target_os = "linux")]
fn judge_kind(directory: &Path, report: &mut Report) {
    let check = &checks::UNRECOGNIZED;
    match dlock_file::shared_file_system(directory) {
        Ok(kind) => {
            let shared = kind.map(|kind| {
                check
                    .finds(Severity::Danger, kind, "a file system of this machine")
                    .effect("machines that share it each grant the same lock: dlock refuses it")
            });
            report.note(check, shared);
        }
        Err(error) => report.no_answer(check, error, "the right to read the directory"),
    }
}

#[cfg(not(target_os = "linux"))]
fn judge_kind(_: &Path, report: &mut Report) {
    let check = &checks::UNRECOGNIZED;
    let finding = check.finds(Severity::Warning, std::env::consts::OS, "Linux");
    report.note(check, Some(finding));
}

#[expect(clippy::cast_precision_loss, reason = "a part needs no more")]
fn judge_space(directory: &Path, report: &mut Report) {
    let check = &checks::DISK;
    let state = match statvfs(directory) {
        Ok(state) => state,
        Err(error) => return report.no_answer(check, error, "the right to read the directory"),
    };
    let part = |free: u64, all: u64| {
        if all == 0 {
            1.0
        } else {
            free as f64 / all as f64
        }
    };
    let blocks = part(state.f_bavail, state.f_blocks);
    let inodes = part(state.f_favail, state.f_files);
    let (what, free) = if blocks < inodes {
        ("space", blocks)
    } else {
        ("inodes", inodes)
    };
    let full = (free < FREE_MIN).then(|| {
        let found = format!("{:.1} % of the {what} free", free * 100.0);
        check.finds(Severity::Warning, found, "2 % or more")
    });
    report.note(check, full);
}

/// Whether one more instance of inotify can be had.
#[cfg(target_os = "linux")]
fn judge_events(report: &mut Report) {
    use rustix::fs::inotify::{CreateFlags, init};

    let check = &checks::NO_INOTIFY;
    let finding = init(CreateFlags::CLOEXEC).err().map(|error| {
        check.finds(
            Severity::Warning,
            format_args!("no instance: {error}"),
            "an instance",
        )
    });
    report.note(check, finding);
}

#[cfg(not(target_os = "linux"))]
fn judge_events(report: &mut Report) {
    let check = &checks::NO_INOTIFY;
    let finding = check.finds(Severity::Warning, std::env::consts::OS, "Linux");
    report.note(check, Some(finding));
}
