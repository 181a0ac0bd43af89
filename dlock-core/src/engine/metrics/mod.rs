//! The metrics of a locker.

mod list;
mod oldest;
mod recorded;

pub(crate) use self::recorded::{Metrics, PendingRelease, Renewals, StoreOp};
