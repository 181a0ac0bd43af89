#![doc = include_str!("../README.md")]

mod acks;
mod cluster;
mod config;
mod dial;
mod ear;
mod errors;
mod history;
mod layout;
mod lock;
mod longest;
mod options;
mod place;
mod pulse;
mod renewals;
mod server;
mod servers;
mod session;
mod slots;
mod take;
mod trips;
mod wait;
mod wake;
mod wire;

pub use crate::{
    config::{RedisConfig, Topology},
    lock::RedisLock,
    options::RedisOptions,
};
