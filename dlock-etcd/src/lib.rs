#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod condition;
mod config;
mod conn;
mod errors;
mod hold;
mod inspect;
mod keys;
mod lease;
mod migration;
mod queue;
mod ranges;
mod shared;
mod watch;

pub use crate::{backend::EtcdLock, condition::TxnCondition, config::EtcdConfig, keys::Format};
