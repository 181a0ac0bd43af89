//! Files that a setting names: read whole, with a bound.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use crate::base::system;

/// The bytes of the file at `path`, at most `max` of them.
pub(super) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if read as u64 > max {
        return Err(io::Error::other(format!("it has more than {max} bytes")));
    }
    Ok(bytes)
}

/// Whether every user of the machine may read the file. False for one that is gone.
pub(super) fn is_readable_by_all(path: &Path) -> bool {
    const READ_BY_OTHERS: u32 = 0o004;
    let mode = std::fs::metadata(path)
        .ok()
        .and_then(|file| system::mode(&file));
    mode.is_some_and(|mode| mode & READ_BY_OTHERS != 0)
}
