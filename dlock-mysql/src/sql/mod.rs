//! What the server is sent and what it replies.

pub(crate) mod server;
