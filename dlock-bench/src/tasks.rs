//! Tasks of the runtime.

use dlock_core::{Error, ErrorKind};
use tokio::task::JoinError;

/// A task that panicked: a defect.
pub(crate) fn defect(error: JoinError) -> Error {
    Error::new(ErrorKind::Internal, "a task died").with_source(error)
}
