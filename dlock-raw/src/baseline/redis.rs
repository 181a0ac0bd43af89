//! Redis: `SET NX PX` and `DEL` by the driver, over a connection as dlock-redis has it.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use redis::RedisError;

use super::floor::{Cycle, Floor, NewName, Server, Times, Usage};
use crate::driver::redis::{Connection, Servers};

/// The ttl of the keys, in milliseconds: what a killed benchmark leaves is gone after it.
const TTL_MS: u32 = 30_000;

/// dlock-redis's own default prefix: a user of the server may be limited to it.
const PREFIX: &str = "dlock:";

/// A value as long as the random ones of redis-py.
const VALUE: &str = "00000000000000000000000000000000";

/// One connection, shared by all tasks.
pub(crate) struct RedisFloor {
    connection: Connection,
    prefix: String,
}

impl RedisFloor {
    pub(crate) async fn connect(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?.unwrap_or_else(|| PREFIX.to_owned());
        let servers = Servers::take(&mut settings)?;
        let connection = servers.connect(&servers.addresses[0]).await;
        Ok(Self {
            connection: connection.map_err(failed)?,
            prefix,
        })
    }
}

#[async_trait]
impl Floor for RedisFloor {
    fn what(&self) -> &'static str {
        "SET key value NX PX ttl and DEL key by the driver alone"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(RedisTask {
            connection: self.connection.clone(),
            key: format!("{}{name}", self.prefix),
        })
    }

    fn new_names(&self) -> Box<dyn NewName> {
        Box::new(RedisNewName {
            connection: self.connection.clone(),
            prefix: self.prefix.clone(),
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }
}

struct RedisTask {
    connection: Connection,
    key: String,
}

#[async_trait]
impl Cycle for RedisTask {
    async fn cycle(&mut self) -> Result<()> {
        set_and_delete(&mut self.connection, &self.key).await
    }
}

struct RedisNewName {
    connection: Connection,
    prefix: String,
}

#[async_trait]
impl NewName for RedisNewName {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        let key = format!("{}{name}", self.prefix);
        set_and_delete(&mut self.connection, &key).await
    }
}

async fn set_and_delete(connection: &mut Connection, key: &str) -> Result<()> {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(VALUE).arg("NX").arg("PX").arg(TTL_MS);
    let free: bool = set.query_async(connection).await.map_err(failed)?;
    let mut delete = redis::cmd("DEL");
    delete.arg(key);
    let deleted: bool = delete.query_async(connection).await.map_err(failed)?;
    if free && deleted {
        return Ok(());
    }
    let why = format!("another client uses the key {key:?}");
    Err(Error::new(ErrorKind::Internal, why))
}

#[async_trait]
impl Server for RedisFloor {
    async fn round_trip(&self) -> Result<()> {
        redis::cmd("PING")
            .exec_async(&mut self.connection.clone())
            .await
            .map_err(failed)
    }

    async fn times(&self) -> Result<Times> {
        Ok(Times {
            cpu: main_thread(&self.info("cpu").await?),
            ..Times::default()
        })
    }

    async fn version(&self) -> Result<Option<String>> {
        Ok(version(&self.info("server").await?))
    }

    async fn usage(&self) -> Result<Usage> {
        let (stats, memory) = (self.info("stats").await?, self.info("memory").await?);
        let number = |info: &str, key| field(info, key).and_then(|value| value.parse().ok());
        Ok(Usage {
            requests: number(&stats, "total_commands_processed"),
            bytes: number(&memory, "used_memory"),
        })
    }
}

impl RedisFloor {
    /// A section of `INFO`.
    async fn info(&self, section: &str) -> Result<String> {
        let mut info = redis::cmd("INFO");
        info.arg(section);
        info.query_async(&mut self.connection.clone())
            .await
            .map_err(failed)
    }
}

/// The value of a line `key:value`.
fn field<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(found, _)| *found == key)
        .map(|(_, value)| value.trim())
}

/// Valkey also reports the version of Redis that it is compatible with.
fn version(info: &str) -> Option<String> {
    let of = |key, name| field(info, key).map(|version| format!("{name} {version}"));
    of("valkey_version", "Valkey").or_else(|| of("redis_version", "Redis"))
}

/// The processor time of the thread that runs the commands; `None` from a server that does not count it.
fn main_thread(info: &str) -> Option<Duration> {
    let seconds = |key| Duration::try_from_secs_f64(field(info, key)?.parse().ok()?).ok();
    Some(seconds("used_cpu_sys_main_thread")? + seconds("used_cpu_user_main_thread")?)
}

fn failed(error: RedisError) -> Error {
    Error::new(ErrorKind::Unavailable, "the store's driver failed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_threads_time_is_read() {
        let info = "# CPU\r\nused_cpu_sys:9.0\r\nused_cpu_sys_main_thread:1.250000\r\n\
                    used_cpu_user_main_thread:0.500001\r\n";
        assert_eq!(main_thread(info), Some(Duration::from_micros(1_750_001)));
        assert_eq!(main_thread("used_cpu_sys:9.0\r\n"), None);
    }

    #[test]
    fn valkey_is_not_called_redis() {
        let valkey = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1\r\n";
        assert_eq!(version(valkey).as_deref(), Some("Valkey 9.0.1"));
        let redis = version("redis_version:7.0.15\r\n");
        assert_eq!(redis.as_deref(), Some("Redis 7.0.15"));
        assert_eq!(version(""), None);
    }
}
