//! The version of the layout: how lock files are named, locked and written.
//!
//! It is the text of a symbolic link in the directory, which nobody follows: a link is made in one step, with its
//! text, and by one process only. A file would be there before its text is. Each lock file has the version, too.

use std::{fs::File, path::Path};

use dlock_core::{Result, backend::LayoutVersion};
use rustix::{fs::readlinkat, fs::symlinkat, io::Errno};

use crate::errors::{self, BACKEND};

/// Whoever changes the layout in a way that this version would not exclude gives it the next number.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// The link's name; those of lock files end otherwise.
const LINK: &str = "layout";

/// How often it is read and made, while others make and remove it.
const TRIES_MAX: u32 = 3;

/// Compares the layout of an open directory with ours, and writes ours where there is none. Where it cannot be
/// written, as on a full disk, nobody is refused for that.
///
/// # Errors
///
/// `InvalidConfig`, with both numbers, if it is another one; or the system fails.
pub(crate) fn check(path: &Path, directory: &File) -> Result<()> {
    for _ in 0..TRIES_MAX {
        match readlinkat(directory, LINK, Vec::new()) {
            // What follows the version is for later ones.
            Ok(text) => {
                let text = text.to_string_lossy();
                return LAYOUT.check(BACKEND, text.split(' ').next().unwrap_or_default());
            }
            Err(Errno::NOENT) => {}
            // It is no link.
            Err(Errno::INVAL) => return LAYOUT.check(BACKEND, ""),
            Err(error) => return Err(errors::of_io(&path.join(LINK), error)),
        }
        match symlinkat(LAYOUT.to_string(), directory, LINK) {
            // Somebody else was first: perhaps of another layout.
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
