//! The floor of a store: its driver alone, with no safety at all. Nothing over it can be faster.
//!
//! It has no token, no owner that a release compares, no waiting and no deadline. It is no lock; it
//! is what a lock's price is counted from.

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod etcd_lock;
mod file;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "zk")]
mod zk;

use std::time::Duration;

use dlock::config::Config;
use dlock_core::{Result, backend::async_trait};

use crate::{cycle::Cycle, report::Baseline};

/// The driver of one store, connected with the URL that dlock has.
pub(crate) trait Floor: Send + Sync {
    /// What one cycle is, in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which is nobody else's.
    fn task(&self, name: &str) -> Box<dyn Cycle>;

    /// The server, if the store has one.
    fn server(&self) -> Option<&dyn Server>;

    /// The server's own lock, if it has one.
    fn own_lock(&self) -> Option<&dyn OwnLock> {
        None
    }
}

/// A lock that the server offers by itself: what users have without dlock.
pub(crate) trait OwnLock: Send + Sync {
    /// What one cycle is, in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which is nobody else's.
    fn task(&self, name: &str) -> Box<dyn Cycle>;
}

/// The process at the other end.
#[async_trait]
pub(crate) trait Server: Send + Sync {
    /// What a hand-over is counted in: a round trip, or a durable write where a store makes one for each
    /// change of a lock.
    fn unit(&self) -> &'static str {
        Baseline::ROUND_TRIP
    }

    /// Makes one of it.
    async fn round_trip(&self) -> Result<()>;

    /// What it has spent of its processor since its start; `None` when it does not say.
    async fn cpu_time(&self) -> Result<Option<Duration>>;
}

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
