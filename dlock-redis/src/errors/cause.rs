//! The system's error inside one of the driver.

use std::{error::Error as StdError, io, sync::Arc};

use redis::RedisError;

/// The I/O error inside the driver's, if there is one.
pub(super) fn io(error: &RedisError) -> Option<&io::Error> {
    let shared: &Arc<dyn StdError + Send + Sync> = error.source()?.downcast_ref()?;
    shared.downcast_ref()
}
