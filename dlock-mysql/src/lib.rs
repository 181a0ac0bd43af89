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
mod migration;
mod monitor;
mod restart_guard;
mod sql;
mod taken;
mod token;

/// The driver, of the version whose settings [`MySqlConfig`] takes.
#[cfg(feature = "driver-api")]
pub use sqlx;

pub use crate::{
    backend::MySqlLock,
    config::{MySqlConfig, TlsMode, TokenSource},
    sql::tables::setup_statements,
};
