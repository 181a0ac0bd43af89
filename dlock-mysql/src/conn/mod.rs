//! The connections of a locker.

pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod idle;
pub(crate) mod pool;
pub(crate) mod setup;
