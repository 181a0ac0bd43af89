#![doc = include_str!("../README.md")]

pub mod baseline;
mod driver;
pub mod probe;
pub mod residue;
