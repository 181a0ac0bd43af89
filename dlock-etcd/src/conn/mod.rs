//! The connection to one member of the cluster at a time.

pub(crate) mod members;
pub(crate) mod probe;
pub(crate) mod request;
