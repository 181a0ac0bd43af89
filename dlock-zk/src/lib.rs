#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod config;
mod conn;
mod errors;
mod hold;
mod keys;
mod liveness;
mod queue;
mod session;
mod watch;

pub use crate::{backend::ZkLock, config::ZkConfig};
