//! Acquiring a lock: opening its file, locking it, and checking that it is still the file.

use std::sync::Arc;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{
    acquire::{attempt::try_acquire, wait::wait},
    keys::FileName,
    lifecycle::Lifecycle,
    store::lock_file::LockFile,
};

mod attempt;
mod back_off;
mod wait;

/// An acquire starts over so often when its file or directory was replaced. That happens once, or is done on
/// purpose.
const START_OVER_MAX: u32 = 100;

/// Acquires the lock, by one try or by a wait. A cancellation ends it at once and closes what it has opened
/// (K7).
pub(crate) async fn acquire(lifecycle: &Arc<Lifecycle>, request: &AcquireRequest) -> Result<Lease> {
    let file_name = FileName::of(lifecycle.config().name_prefix(), &request.name);
    for _ in 0..START_OVER_MAX {
        if let Some(file) = LockFile::open(&lifecycle.watched_directory()?, &file_name)? {
            let lease = match request.wait {
                Wait::Never => try_acquire(lifecycle, request, &file_name, file).await?,
                Wait::UntilCancelled => wait(lifecycle, request, &file_name, file).await?,
            };
            if let Some(lease) = lease {
                return Ok(lease);
            }
        }
        lifecycle.refresh_directory()?;
    }
    let path = lifecycle.config().directory().join(file_name.as_str());
    let message = format!(
        "{}: something keeps replacing it; find out what",
        path.display()
    );
    Err(Error::new(ErrorKind::Unavailable, message))
}
