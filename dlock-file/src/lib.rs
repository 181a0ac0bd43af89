#![doc = include_str!("../README.md")]

mod acquire;
mod config;
mod directory;
mod errors;
mod file;
mod filesystem;
mod held;
mod layout;
mod lock;
mod reader;
mod record;
mod session;
mod version;
mod wait;
mod watch;

pub use crate::{config::FileConfig, lock::FileLock};
