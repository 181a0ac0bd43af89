//! Which server has which keys.

mod cluster;
pub(crate) mod router;
mod slot_map;
