//! The stores by the schemes of their URLs.

use std::{future::Future, pin::Pin};

use dlock_core::{Error, ErrorKind, Result, config::Config};
use dlock_layers::parts;

#[cfg(feature = "etcd")]
use super::etcd;
#[cfg(feature = "mysql")]
use super::mysql;
#[cfg(feature = "redis")]
use super::redis;
#[cfg(feature = "zk")]
use super::zk;
use super::{clock::ServerClock, file, foreign, nested::Nested, report::Report};
use crate::{backend, family::Family};

type Probing<'a> = Pin<Box<dyn Future<Output = Result<Report>> + Send + 'a>>;

/// Why a store has no rate of its own to compare.
const NO_CLOCK: &str = "the store has no clock that can be read";
const SAME_CLOCK: &str = "the store uses this machine's clock";

/// Reads the settings of the store that `config` names.
pub(super) async fn probe(config: &Config) -> Result<Report> {
    match config.url().scheme() {
        #[cfg(feature = "etcd")]
        "etcd" | "etcds" => etcd::probe(config).await,
        "file" => file::probe(config),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => mysql::probe(config).await,
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis-sentinel" | "rediss-sentinel" | "redis-cluster"
        | "rediss-cluster" => redis::probe(config).await,
        #[cfg(feature = "zk")]
        "zk" | "zks" => zk::probe(config).await,
        "migrate" | "quorum" | "redis-quorum" | "rediss-quorum" => probe_parts(config).await,
        other if backend(other).is_none() => Ok(foreign::probe(other)),
        other => {
            let why = format!("{other}: has no settings that can be read");
            Err(Error::new(ErrorKind::InvalidConfig, why))
        }
    }
}

/// Reads the settings of all stores that a store is made of, one after another.
fn probe_parts(config: &Config) -> Probing<'_> {
    Box::pin(async move {
        let word = match Family::of(config.url().scheme()) {
            Some(Family::Quorum) => "nodes",
            _ => "stores",
        };
        let mut all = Nested::of(word);
        for part in parts(config)?.unwrap_or_default() {
            let name = format!("{} ({})", part.label, part.config);
            all.add(&name, probe(&part.config).await);
        }
        all.ended()
    })
}

/// The clock of the store that `config` names, or why it has none.
pub(super) async fn clock(
    config: &Config,
) -> Result<std::result::Result<Box<dyn ServerClock>, &'static str>> {
    match config.url().scheme() {
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis-sentinel" | "rediss-sentinel" | "redis-cluster"
        | "rediss-cluster" => Ok(Ok(redis::clock(config).await?)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Ok(mysql::clock(config).await?)),
        "file" | "memory" => Ok(Err(SAME_CLOCK)),
        _ => Ok(Err(NO_CLOCK)),
    }
}
