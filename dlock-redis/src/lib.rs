#![doc = include_str!("../README.md")]

mod config;
mod errors;
mod layout;
mod lock;
mod renewals;
mod server;
mod session;
mod take;
mod turns;
mod wait;
mod wake;
mod wire;

pub use crate::{config::RedisConfig, lock::RedisLock};
