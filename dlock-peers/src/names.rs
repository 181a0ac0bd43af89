//! Names that the measurement and the clients in Rust share.

/// The first argument of a process that is a client in Rust; the client's name and the URL follow.
pub(crate) const VERB: &str = "serve";

/// The first argument of the process that keeps the cores awake: the benchmark's.
pub(crate) const SPIN: &str = "--spin";

pub(crate) const DLOCK: &str = "dlock";

/// The driver alone, which the others are compared with.
pub(crate) const RAW: &str = "raw";

/// dlock's own requests, by the driver alone.
pub(crate) const FLOOR: &str = "floor";
