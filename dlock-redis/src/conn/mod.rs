//! Connections to one server: made, probed, replaced when they end.

mod abandoned;
pub(crate) mod connect;
mod connection;
mod driver;
mod history;
mod last_contact;
mod liveness;
pub(crate) mod node;
mod open;
mod probe;
pub(crate) mod pubsub;
mod reconnect;
mod record;
pub(crate) mod replication;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod subscription;
#[cfg(feature = "tls")]
mod system;
#[cfg(feature = "tls")]
mod tls;

pub(crate) use self::abandoned::DELAY_MAX;
