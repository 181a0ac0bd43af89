//! Acquiring a lock.

pub(crate) mod attempt;
pub(crate) mod batch;
pub(crate) mod wait;
