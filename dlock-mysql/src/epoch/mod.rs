//! What the row of `dlock_epoch` says.

pub(crate) mod cache;
