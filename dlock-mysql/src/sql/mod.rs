//! Texts of statements and replies, without I/O.

pub(crate) mod row;
pub(crate) mod server;
pub(crate) mod tables;
