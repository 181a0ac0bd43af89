//! Connections to one server.

pub(crate) mod connect;
pub(crate) mod history;
pub(crate) mod liveness;
pub(crate) mod node;
pub(crate) mod probe;
pub(crate) mod pubsub;
pub(crate) mod replication;
pub(crate) mod resolve;
