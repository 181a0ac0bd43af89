//! Inspection of a lock's holder.

use dlock_core::{Holder, LockName, Result};

use crate::{keys::FileName, lifecycle::Lifecycle, store::lock_file::LockFile};

/// A holder's line that is being written is read so often.
const READS_MAX: u32 = 3;

/// The holder of `name`.
pub(crate) fn inspect(lifecycle: &Lifecycle, name: &LockName) -> Result<Option<Holder>> {
    let file_name = FileName::of(lifecycle.config().name_prefix(), name);
    // In a directory that was replaced, every lock would appear free.
    lifecycle.refresh_directory()?;
    let directory = lifecycle.directory()?;
    let Some(file) = LockFile::open_existing(&directory, &file_name)? else {
        return Ok(None);
    };
    for _ in 0..READS_MAX {
        if !file.is_held()? {
            return Ok(None);
        }
        if let Some(holder) = file.read()?.holder {
            return Ok(Some(holder));
        }
    }
    // Locked by another program, such as flock(1).
    Ok(Some(Holder::foreign()))
}
