#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod config;
mod conn;
mod errors;
mod hold;
mod inspect;
mod keys;
mod longest_ttl;
mod migration;
mod pubsub;
mod scripts;
mod token_counter;
mod topology;

pub use crate::{backend::RedisLock, config::RedisConfig, keys::Format};
/// The driver, of the version whose settings [`RedisConfig`] takes.
#[cfg(feature = "driver-api")]
pub use redis;
