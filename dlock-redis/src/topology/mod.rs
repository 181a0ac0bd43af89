//! The servers, and the keys that each has.

mod cluster;
pub(crate) mod router;
mod slot_map;
