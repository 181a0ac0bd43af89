#![doc = include_str!("../README.md")]

mod config;
mod diagnose;
mod dial;
mod entry;
mod errors;
mod heartbeat;
mod held;
mod layout;
mod lock;
mod looks;
mod proof;
mod queue;
mod session;
mod sessions;
mod take;
mod tls;
mod token;
mod told;
mod wait;

pub use crate::{config::ZkConfig, lock::ZkLock};
