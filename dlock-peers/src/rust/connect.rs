//! A client by its name.

use super::{client::Client, cluster, dlock, etcd, floor, mysql, raw, redis};
use crate::{
    failure::Failure,
    names::{DLOCK, FLOOR, RAW},
};

/// Connects the client `name` to the server of dlock's `url`.
pub(super) async fn connect(name: &str, url: &str) -> Result<Box<dyn Client>, Failure> {
    Ok(match name {
        DLOCK => Box::new(dlock::Dlock::connect(url).await?),
        RAW if url.starts_with("mysql") => Box::new(mysql::RowLock::connect(url)?),
        RAW if url.starts_with("redis-cluster") => Box::new(cluster::Cluster::connect(url).await?),
        RAW => Box::new(raw::Raw::connect(url).await?),
        FLOOR => Box::new(floor::Floor::connect(url).await?),
        "rslock" => Box::new(redis::Rslock::connect(url)),
        "Lock RPC" => Box::new(etcd::LockRpc::connect(url).await?),
        "GET_LOCK" => Box::new(mysql::GetLock::connect(url)?),
        other => return Err(format!("there is no client {other}").into()),
    })
}
