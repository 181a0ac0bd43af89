//! The rules of the epoch row (`dlock_epoch`), without I/O.

pub(crate) mod cache;
pub(crate) mod guard_clock;
pub(crate) mod row;
pub(crate) mod ttl_coverage;
