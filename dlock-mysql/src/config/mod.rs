//! The settings of a MySQL backend, from code or from a URL; strict.

mod address;
mod base;
mod builder;
mod driver;
#[cfg(feature = "driver-api")]
mod from_driver;
mod tls;

pub(crate) use self::address::Address;
pub use self::{
    builder::{MySqlConfig, TokenSource},
    tls::TlsMode,
};
