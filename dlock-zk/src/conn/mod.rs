//! Connections to the servers: making them, checking the servers, keeping the session alive.

pub(crate) mod connect;
mod diagnose;
pub(crate) mod heartbeat;
mod layout_record;
pub(crate) mod reconnect;
mod tls;
