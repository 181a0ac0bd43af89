#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod config;
mod conn;
mod epoch;
mod errors;
mod hold;
mod inspect;
mod keys;
mod monitor;
mod restart_guard;
mod sql;
mod token;

pub use crate::{backend::MySqlLock, config::MySqlConfig, sql::tables::setup_statements};
