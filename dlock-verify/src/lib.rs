#![doc = include_str!("../README.md")]

pub mod checker;
pub mod history;
pub mod proxy;
#[cfg(feature = "simulation")]
pub mod simulation;
pub mod support;

mod availability;
