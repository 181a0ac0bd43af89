//! The queue of a name: one key for each attempt, in the order of creation. The first key holds the lock.

pub(crate) mod batch;
pub(crate) mod context;
mod delete;
mod enqueue;
pub(crate) mod key;
mod key_pool;
mod move_key;
pub(crate) mod position;
