//! The version of the layout in a directory: how lock files are named, locked and written.
//!
//! It is the text of a dangling symbolic link. A link is created in one step, with its text, and by one process
//! only; a file would exist before its text. Each lock file has the version, too.

use std::{fs::File, path::Path};

use dlock_core::Result;
use rustix::{fs::readlinkat, fs::symlinkat, io::Errno};

use crate::{
    errors::{self, BACKEND},
    keys::LAYOUT,
};

/// The link's name; names of lock files have another end.
const LINK: &str = "layout";

/// The link is read and created so often, while other processes create and remove it.
const TRIES_MAX: u32 = 3;

/// Compares the layout of an open directory with ours, and writes ours where there is none. A failed write, as on
/// a full disk, is not an error.
///
/// # Errors
///
/// `InvalidConfig`, with both numbers, if it is another one; or the system fails.
pub(crate) fn check(path: &Path, directory: &File) -> Result<()> {
    for _ in 0..TRIES_MAX {
        match readlinkat(directory, LINK, Vec::new()) {
            // Later versions may append more.
            Ok(text) => {
                let text = text.to_string_lossy();
                return LAYOUT.check(BACKEND, text.split(' ').next().unwrap_or_default());
            }
            Err(Errno::NOENT) => {}
            // Not a link.
            Err(Errno::INVAL) => return LAYOUT.check(BACKEND, ""),
            Err(error) => return Err(errors::of_io(&path.join(LINK), error)),
        }
        match symlinkat(LAYOUT.to_string(), directory, LINK) {
            // Another process was first, perhaps of another layout.
            Err(Errno::EXIST) => {}
            made => {
                if let Err(error) = made {
                    tracing::debug!(%error, ?path, "the version of the layout cannot be written");
                }
                return Ok(());
            }
        }
    }
    Ok(())
}
