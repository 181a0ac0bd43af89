//! The queue of a lock, without its session: order, lists and what the numbers prove.

pub(crate) mod list_batch;
pub(crate) mod order;
pub(crate) mod sequence_cache;
