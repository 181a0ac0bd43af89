#![doc = include_str!("../README.md")]

mod carrier;
mod carriers;
mod config;
mod entry;
mod errors;
mod held;
mod ids;
mod keeping;
mod layout;
mod leases;
mod listen;
mod lock;
mod looks;
mod moving;
mod numbers;
mod pulse;
mod queries;
mod removal;
mod seat;
mod server;
mod session;
mod standing;
mod take;
mod trips;
mod txn_guard;
mod wait;
mod watch;

pub use crate::{config::EtcdConfig, lock::EtcdLock, txn_guard::TxnGuard};
