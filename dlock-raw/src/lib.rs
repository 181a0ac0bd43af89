#![doc = include_str!("../README.md")]

pub mod baseline;
mod driver;
mod family;
pub mod probe;
pub mod residue;

pub use self::family::backend;
