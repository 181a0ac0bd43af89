//! The settings of a Redis backend, from code or from a URL; strict.

mod builder;
#[cfg(feature = "driver-api")]
mod driver;
mod options;
mod setters;
mod topology;

pub use self::builder::RedisConfig;
pub(crate) use self::{options::Options, topology::Topology};
