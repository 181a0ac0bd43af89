#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod config;
mod conn;
mod errors;
mod hold;
mod inspect;
mod keys;
mod liveness;
mod migration;
mod nodes;
mod queue;
mod session;
mod watch;

pub use crate::{backend::ZkLock, config::ZkConfig, keys::Format};
