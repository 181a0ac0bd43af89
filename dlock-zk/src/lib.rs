#![doc = include_str!("../README.md")]

mod config;
mod diagnose;
mod dial;
mod entry;
mod errors;
mod flow;
mod heartbeat;
mod held;
mod known;
mod layout;
mod lock;
mod looks;
mod proof;
mod queue;
mod record;
mod rounds;
mod session;
mod sessions;
mod take;
mod tls;
mod token;
mod told;
mod wait;
mod watch;

pub use crate::{config::ZkConfig, lock::ZkLock};
