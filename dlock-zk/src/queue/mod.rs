//! The queue of a lock, as far as it needs no session.

pub(crate) mod list_batch;
pub(crate) mod order;
pub(crate) mod sequence_cache;
