//! How long a server grants nothing after its start.

pub(crate) mod longest_ttl;
pub(crate) mod restart;
