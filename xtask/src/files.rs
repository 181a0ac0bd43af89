//! Files that a task makes.

use std::{fs, io, path::Path};

use crate::failure::{Failure, Result};

/// Writes `text` to `path`, and makes the folders above it.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| cannot("write", path, &error))
}

/// The failure to do something with a file or folder.
pub(crate) fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}
