//! One attempt to take a lock.

pub(crate) mod enqueue;
pub(crate) mod wait;
