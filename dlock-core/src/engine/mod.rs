//! The background work of a locker.

pub(crate) mod call;
pub(crate) mod cleanup;
pub(crate) mod hold;
pub(crate) mod holds_end;
pub(crate) mod in_flight;
pub(crate) mod local_queue;
pub(crate) mod metrics;
pub(crate) mod migration_reading;
pub(crate) mod migration_watch;
pub(crate) mod renewals;
pub(crate) mod scheduler;
pub(crate) mod shared;
pub(crate) mod spans;
