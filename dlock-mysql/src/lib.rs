#![doc = include_str!("../README.md")]

mod answers;
mod behind;
mod committed;
mod config;
mod control;
mod dial;
mod epoch;
mod errors;
mod guard;
mod held;
mod idle;
mod latest;
mod layout;
mod link;
mod lock;
mod longest;
mod look;
mod server;
mod session;
mod setup;
mod take;
mod tls;
mod wait;
mod watcher;

pub use crate::{config::MySqlConfig, lock::MySqlLock, setup::statements as setup_statements};
