//! Which server has which keys.

pub(crate) mod cluster;
pub(crate) mod router;
