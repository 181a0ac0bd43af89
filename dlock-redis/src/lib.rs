#![doc = include_str!("../README.md")]

mod acks;
mod cluster;
mod config;
mod dial;
mod ear;
mod errors;
mod layout;
mod lock;
mod options;
mod place;
mod renewals;
mod server;
mod servers;
mod session;
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
