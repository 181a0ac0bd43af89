#![doc = include_str!("../README.md")]

pub mod chaos;
pub mod checker;
pub mod history;
pub mod migration_record;
pub mod picture;
pub mod proxy;
pub mod random;
pub mod signals;
#[cfg(feature = "simulation")]
pub mod simulation;
pub mod support;
pub mod verdict;
pub mod worker;

mod availability;
