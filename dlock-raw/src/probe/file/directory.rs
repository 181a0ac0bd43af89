//! The directory: whether it is there, and who may write to it.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use dlock_core::{Error, ErrorKind, Result};

use super::checks;
use crate::probe::{finding::Severity, report::Report};

/// Other users with write access could remove or occupy locks.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A directory with this bit is meant for all users.
const STICKY: u32 = 0o1000;

/// Where systems remove old files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Judges the directory: the one that is there, it or its parent, which says what its file system is.
///
/// # Errors
///
/// When neither is there.
pub(super) fn judge(path: &Path, report: &mut Report) -> Result<Option<PathBuf>> {
    let is_temporary = TEMPORARY.iter().any(|root| path.starts_with(root));
    let removed = is_temporary.then(|| {
        checks::REMOVED.finds(
            Severity::Note,
            path.display(),
            "a directory that is not temporary",
        )
    });
    report.note(&checks::REMOVED, removed);
    let check = &checks::DIRECTORY;
    let wanted = "a directory that only its owner writes to";
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| parent.is_dir());
            let finding = match parent {
                Some(_) => check
                    .finds(Severity::Note, "it is not there", wanted)
                    .effect("dlock makes it"),
                None => {
                    let why = format!("{} is not there, nor is its parent", path.display());
                    return Err(Error::new(ErrorKind::InvalidConfig, why));
                }
            };
            report.note(check, Some(finding));
            return Ok(parent.map(Path::to_owned));
        }
        Err(error) => {
            report.no_answer(check, error, "the right to read the directory");
            return Ok(None);
        }
    };
    if !metadata.is_dir() {
        let finding = check
            .finds(Severity::Danger, "it is a file and no directory", wanted)
            .advice("give the path of a directory, as in file:/var/lock/app");
        report.note(check, Some(finding));
        return Ok(None);
    }
    let mode = metadata.permissions().mode() & 0o7777;
    let is_open = mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0;
    let open = is_open.then(|| {
        check
            .finds(Severity::Danger, format_args!("mode {mode:o}"), wanted)
            .effect("other users can remove or occupy locks: dlock refuses the directory")
            .advice(format!("chmod go-w {}", path.display()))
    });
    report.note(check, open);
    Ok(Some(path.to_owned()))
}
