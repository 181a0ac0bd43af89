//! Names that the measurement and the clients in Rust share.

/// The first argument of a process that is a client in Rust; the client's name and the URL follow.
pub(crate) const VERB: &str = "serve";

pub(crate) const DLOCK: &str = "dlock";

/// The driver alone, which the others are compared with.
pub(crate) const RAW: &str = "raw";
