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
#[cfg(feature = "mysql")]
mod mysql_lock;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "zk")]
mod zk;

use std::fmt;

use dlock_core::{Result, config::Config};

use crate::backend;

pub use self::floor::{Cycle, Floor, NewName, OwnLock, ROUND_TRIP, Server, Times, Usage, WRITE};

/// Why a store that could have a floor has none.
const NO_TLS: &str = "no driver beside it: dlock-raw was built without TLS";

/// Why a store of another project has none.
const FOREIGN: &str =
    "no driver beside it: dlock has none for its scheme, and finds no entries that are left";

/// Why a store that is made of others has no floor.
const NESTED: &str = "no driver beside it: it is made of other stores";

/// The schemes whose floors need TLS.
const ENCRYPTED: [&str; 3] = ["etcds", "rediss", "zks"];

/// A floor, or why there is none where one would be expected.
#[derive(Default)]
#[non_exhaustive]
pub struct Found {
    /// The floor.
    pub floor: Option<Box<dyn Floor>>,
    /// The reason why there is none.
    pub note: Option<&'static str>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found")
            .field("floor", &self.floor.as_ref().map(|floor| floor.what()))
            .field("note", &self.note)
            .finish()
    }
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
pub async fn open(config: &Config) -> Result<Found> {
    let scheme = config.url().scheme();
    if cfg!(not(feature = "tls")) && ENCRYPTED.contains(&scheme) {
        return Ok(Found {
            note: Some(NO_TLS),
            ..Found::default()
        });
    }
    let floor: Box<dyn Floor> = match scheme {
        "file" => Box::new(file::FileFloor::open(config.url())?),
        #[cfg(feature = "etcd")]
        "etcd" | "etcds" => Box::new(etcd::EtcdFloor::connect(config).await?),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Box::new(mysql::MySqlFloor::connect(config).await?),
        #[cfg(feature = "redis")]
        "redis" | "rediss" => Box::new(redis::RedisFloor::connect(config).await?),
        #[cfg(feature = "zk")]
        "zk" | "zks" => Box::new(zk::ZkFloor::connect(config).await?),
        _ => {
            return Ok(Found {
                note: match backend(scheme) {
                    None => Some(FOREIGN),
                    Some("migrate" | "quorum") => Some(NESTED),
                    Some(_) => None,
                },
                ..Found::default()
            });
        }
    };
    Ok(Found {
        floor: Some(floor),
        note: None,
    })
}
