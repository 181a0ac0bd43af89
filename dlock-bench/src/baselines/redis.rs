//! Redis: `SET NX PX` and `DEL` by the driver, over a connection as dlock-redis has it.

use std::time::Duration;

use dlock::config::BackendUrl;
use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion,
    RedisConnectionInfo, RedisError, aio::MultiplexedConnection,
};

use super::floor::{Floor, Server};
use crate::workload::Cycle;

/// How long connecting and an answer may take; dlock-redis's own defaults.
const CONNECT_MAX: Duration = Duration::from_secs(5);
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// The ttl of the keys, in milliseconds: what a killed benchmark leaves is gone after it.
const TTL_MS: u32 = 30_000;

/// dlock-redis's own default prefix: a user of the server may be limited to it.
const PREFIX: &str = "dlock:";

/// A value as long as the random ones of redis-py.
const VALUE: &str = "00000000000000000000000000000000";

/// One connection, shared by all tasks.
pub(crate) struct RedisFloor {
    connection: MultiplexedConnection,
    prefix: String,
}

impl RedisFloor {
    pub(crate) async fn connect(url: &BackendUrl) -> Result<Self> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_MAX))
            .set_response_timeout(Some(ANSWER_MAX));
        let connection = client(url)?
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        Ok(Self {
            connection: connection.map_err(failed)?,
            prefix: url.param("prefix").unwrap_or(PREFIX).to_owned(),
        })
    }
}

fn client(url: &BackendUrl) -> Result<Client> {
    let no_host = || Error::new(ErrorKind::InvalidConfig, "no server in the URL");
    let host = url.hosts().first().ok_or_else(no_host)?;
    let address = ConnectionAddr::Tcp(host.name.clone(), host.port.unwrap_or(6379));
    let database = url.path().trim_start_matches('/').parse().unwrap_or(0);
    let mut login = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_db(database);
    if let Some(user) = url.user() {
        login = login.set_username(user);
    }
    if let Some(password) = url.password() {
        login = login.set_password(password.expose());
    }
    let info = address.into_connection_info().map_err(failed)?;
    Client::open(info.set_redis_settings(login)).map_err(failed)
}

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

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }
}

struct RedisTask {
    connection: MultiplexedConnection,
    key: String,
}

#[async_trait]
impl Cycle for RedisTask {
    async fn cycle(&mut self) -> Result<()> {
        let mut set = redis::cmd("SET");
        set.arg(&self.key)
            .arg(VALUE)
            .arg("NX")
            .arg("PX")
            .arg(TTL_MS);
        let free: bool = set
            .query_async(&mut self.connection)
            .await
            .map_err(failed)?;
        let mut delete = redis::cmd("DEL");
        delete.arg(&self.key);
        let deleted: bool = delete
            .query_async(&mut self.connection)
            .await
            .map_err(failed)?;
        if free && deleted {
            return Ok(());
        }
        let why = format!("another client uses the key {:?}", self.key);
        Err(Error::new(ErrorKind::Internal, why))
    }
}

#[async_trait]
impl Server for RedisFloor {
    async fn round_trip(&self) -> Result<()> {
        redis::cmd("PING")
            .exec_async(&mut self.connection.clone())
            .await
            .map_err(failed)
    }

    async fn cpu_time(&self) -> Result<Option<Duration>> {
        let mut info = redis::cmd("INFO");
        info.arg("cpu");
        let info: String = info
            .query_async(&mut self.connection.clone())
            .await
            .map_err(failed)?;
        Ok(main_thread(&info))
    }
}

/// The processor time of the thread that runs the commands; `None` from a server that does not count it.
fn main_thread(info: &str) -> Option<Duration> {
    let seconds = |key: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(key))?;
        Duration::try_from_secs_f64(line.parse().ok()?).ok()
    };
    Some(seconds("used_cpu_sys_main_thread:")? + seconds("used_cpu_user_main_thread:")?)
}

fn failed(error: RedisError) -> Error {
    Error::new(ErrorKind::Unavailable, "the driver of the floor failed").with_source(error)
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
}
