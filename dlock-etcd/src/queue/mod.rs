//! The queue of a name: one key for each attempt, in the order of creation.

pub(crate) mod batch;
mod delete;
pub(crate) mod key;
pub(crate) mod key_pool;
