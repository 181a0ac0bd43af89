//! What the row of `dlock_epoch` says, without I/O.

pub(crate) mod cache;
pub(crate) mod guard_clock;
pub(crate) mod row;
pub(crate) mod ttl_coverage;
