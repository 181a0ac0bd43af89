//! The section about speed: which figures there are, and what they are made of.

mod cost;
mod crash;
mod latencies;
mod limits;
mod section;

pub(super) use self::section::render;
