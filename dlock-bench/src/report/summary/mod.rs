//! The summary of ten seconds: four sentences by fixed rules, each with its number.

mod crash;
mod mind;
mod safest;
mod speed;
mod tile;
mod tiles;

pub(super) use self::tiles::render;
