//! Held locks: renewal, release and loss.

pub(crate) mod handle;
pub(crate) mod heartbeat;
pub(crate) mod renewal;
mod savepoint;
