//! The floor of a store: its driver alone, with no safety at all. Nothing over it can be faster.
//!
//! It has no token, no owner that a release compares, no waiting and no deadline. It is no lock; it
//! is what a lock's price is counted from.

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod etcd_lock;
mod file;
mod floor;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "zk")]
mod zk;

use dlock::config::Config;
use dlock_core::Result;

pub(crate) use self::floor::{Floor, OwnLock, Server};

/// Why a store that could have a floor has none.
const NO_TLS: &str = "no floor: it is not measured over TLS";

/// A floor, or why there is none where one would be expected.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) floor: Option<Box<dyn Floor>>,
    pub(crate) note: Option<&'static str>,
}

/// The floor of the store that `config` names. It was opened by dlock before, so its URL is right.
///
/// # Errors
///
/// What the driver says.
///
/// # Cancel safety
///
/// Dropping the future closes the connection.
pub(crate) async fn open(config: &Config) -> Result<Found> {
    let floor: Box<dyn Floor> = match config.url().scheme() {
        "file" => Box::new(file::FileFloor::open(config.url())?),
        #[cfg(feature = "etcd")]
        "etcd" => Box::new(etcd::EtcdFloor::connect(config.url()).await?),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Box::new(mysql::MySqlFloor::connect(config.url()).await?),
        #[cfg(feature = "redis")]
        "redis" => Box::new(redis::RedisFloor::connect(config.url()).await?),
        #[cfg(feature = "zk")]
        "zk" => Box::new(zk::ZkFloor::connect(config.url()).await?),
        "etcds" | "rediss" | "zks" => {
            return Ok(Found {
                note: Some(NO_TLS),
                ..Found::default()
            });
        }
        _ => return Ok(Found::default()),
    };
    Ok(Found {
        floor: Some(floor),
        note: None,
    })
}
