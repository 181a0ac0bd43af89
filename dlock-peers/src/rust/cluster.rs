//! The driver alone on a Cluster: a plain connection to each master, and each command goes to the owner of its key.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use crc16::{State, XMODEM};
use redis::{Client as Driver, Value, aio::MultiplexedConnection, cmd, from_redis_value_ref};

use super::client::{Client, Lock, without_keys};
use crate::failure::Failure;

/// The ttl of the keys, in milliseconds.
const TTL_MS: u32 = 30_000;

/// A value as long as the random ones of redis-py.
const VALUE: &str = "00000000000000000000000000000000";

const SLOTS: u16 = 16_384;

pub(super) struct Cluster(Vec<Master>);

#[derive(Clone)]
struct Master {
    slots: RangeInclusive<u16>,
    connection: MultiplexedConnection,
}

/// A lock whose acquire is the whole cycle.
struct Whole {
    masters: Vec<Master>,
    key: String,
}

impl Cluster {
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        let address = without_keys(url).replacen("redis-cluster://", "redis://", 1);
        let first = address
            .split_once(',')
            .map_or(&*address, |(first, _)| first);
        let mut first = connection(first).await?;
        let shards: Vec<Vec<Value>> = cmd("CLUSTER").arg("SLOTS").query_async(&mut first).await?;
        let mut masters = Vec::new();
        for shard in shards {
            let [from, to, master, ..] = &shard[..] else {
                return Err("CLUSTER SLOTS has a row of another shape".into());
            };
            let node: Vec<Value> = from_redis_value_ref(master)?;
            let [host, port, ..] = &node[..] else {
                return Err("CLUSTER SLOTS has a node of another shape".into());
            };
            let (host, port): (String, u16) =
                (from_redis_value_ref(host)?, from_redis_value_ref(port)?);
            masters.push(Master {
                slots: from_redis_value_ref(from)?..=from_redis_value_ref(to)?,
                connection: connection(&format!("redis://{host}:{port}")).await?,
            });
        }
        Ok(Self(masters))
    }
}

async fn connection(address: &str) -> Result<MultiplexedConnection, Failure> {
    let driver = Driver::open(address)?;
    Ok(driver.get_multiplexed_async_connection().await?)
}

#[async_trait]
impl Client for Cluster {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Whole {
            masters: self.0.clone(),
            key: name.to_owned(),
        }))
    }
}

#[async_trait]
impl Lock for Whole {
    async fn acquire(&mut self) -> Result<(), Failure> {
        let slot = State::<XMODEM>::calculate(self.key.as_bytes()) % SLOTS;
        let mut masters = self.masters.iter_mut();
        let master = masters.find(|master| master.slots.contains(&slot));
        let connection = &mut master.ok_or("a slot has no master")?.connection;
        let mut set = cmd("SET");
        set.arg(&self.key)
            .arg(VALUE)
            .arg("NX")
            .arg("PX")
            .arg(TTL_MS);
        let free: bool = set.query_async(connection).await?;
        let deleted: bool = cmd("DEL").arg(&self.key).query_async(connection).await?;
        match free && deleted {
            true => Ok(()),
            false => Err(format!("another client uses the key {}", self.key).into()),
        }
    }

    async fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rename(&mut self, name: String) {
        self.key = name;
    }
}
