#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod config;
mod errors;
mod hold;
mod inspect;
mod keys;
mod lifecycle;
mod migration;
mod store;
mod token_counter;
mod watch;

pub use crate::{backend::FileLock, config::FileConfig, store::filesystem::shared_file_system};
