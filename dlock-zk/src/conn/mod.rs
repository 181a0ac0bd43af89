//! Connecting: from the URL's servers to a session that lives.

mod connect;
mod diagnose;
mod heartbeat;
mod layout_record;
mod probe;
pub(crate) mod reconnect;
pub(crate) mod sessions;
#[cfg(feature = "tls")]
mod tls;
