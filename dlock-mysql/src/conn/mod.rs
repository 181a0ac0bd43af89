//! Connections: connecting, probing, pooling.

pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod idle;
pub(crate) mod pool;
pub(crate) mod probe;
pub(crate) mod rows;
pub(crate) mod setup;
