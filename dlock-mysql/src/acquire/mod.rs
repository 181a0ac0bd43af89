//! How a lock is acquired.

pub(crate) mod attempt;
pub(crate) mod blocked;
pub(crate) mod wait;
