//! Connections to Redis and its Sentinels, as dlock-redis has them.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Credentials, Host, Login, LoginKeys, Settings, Timeouts, Tls},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind as DriverKind, FromRedisValue,
    IntoConnectionInfo as _, Pipeline, ProtocolVersion, RedisConnectionInfo, RedisError,
    RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::{task::JoinSet, time::timeout};

use super::stream::Opener;

/// dlock-redis's own defaults.
const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));

/// dlock-redis's own keys.
const SENTINEL_LOGIN: LoginKeys = LoginKeys {
    user: "sentinel_user",
    password: "sentinel_password",
    password_file: "sentinel_password_file",
    password_env: "sentinel_password_env",
};

/// The kind of servers at the addresses of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Server,
    Sentinel,
    Cluster,
}

/// An address: host and port.
pub(crate) type Address = (String, u16);

/// The servers of a URL, and how they are connected to.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    pub(crate) topology: Topology,
    /// The servers or, if there are some, the Sentinels.
    pub(crate) addresses: Vec<Address>,
    /// The Sentinels' name of the primary.
    pub(crate) service: String,
    pub(crate) user: Option<String>,
    pub(crate) timeouts: Timeouts,
    opener: Opener,
    /// The logins at the servers, and at the Sentinels.
    login: RedisConnectionInfo,
    sentinel_login: RedisConnectionInfo,
}

/// A connection. It ends with its last clone.
#[derive(Clone)]
pub(crate) struct Connection {
    inner: MultiplexedConnection,
    reply_max: Duration,
    /// The task that serves it, if it is not the driver's own.
    _task: Option<Arc<JoinSet<()>>>,
}

impl Servers {
    /// Reads the servers' part of the settings, and the certificates.
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let topology = match settings.scheme().split_once('-') {
            Some((_, "sentinel")) => Topology::Sentinel,
            Some((_, "cluster")) => Topology::Cluster,
            _ => Topology::Server,
        };
        let default_port = match topology {
            Topology::Sentinel => 26379,
            Topology::Server | Topology::Cluster => 6379,
        };
        let address = |host: Host| (host.name, host.port.unwrap_or(default_port));
        let addresses: Vec<_> = settings.take_hosts().into_iter().map(address).collect();
        if addresses.is_empty() {
            return Err(settings.invalid("give a server, as in redis://127.0.0.1:6379"));
        }
        let path = settings.take_path().unwrap_or_default();
        let path = path.trim_start_matches('/');
        let (service, database) = match topology {
            Topology::Sentinel => path.split_once('/').unwrap_or((path, "")),
            Topology::Server | Topology::Cluster => ("", path),
        };
        let mut timeouts = TIMEOUTS;
        timeouts.take(settings)?;
        let login = Login::take(settings)?.read()?;
        let sentinel_login = Login::take_keys(settings, SENTINEL_LOGIN)?.read()?;
        let tls = match settings.scheme().starts_with("rediss") {
            true => Some(Tls::take(settings)?),
            false => None,
        };
        Ok(Self {
            topology,
            addresses,
            service: service.to_owned(),
            user: login.user().map(str::to_owned),
            timeouts,
            opener: Opener::new(tls.as_ref(), timeouts.connect)?,
            login: of_driver(&login).set_db(database.parse().unwrap_or(0)),
            sentinel_login: of_driver(&sentinel_login),
        })
    }

    /// Connects to a server.
    pub(crate) async fn connect(&self, address: &Address) -> RedisResult<Connection> {
        self.connect_as(address, self.login.clone()).await
    }

    /// Connects to a Sentinel.
    pub(crate) async fn connect_to_sentinel(&self, address: &Address) -> RedisResult<Connection> {
        self.connect_as(address, self.sentinel_login.clone()).await
    }

    /// Connects to the first that answers: the server, the primary that a Sentinel names, or a node of the Cluster.
    pub(crate) async fn connect_to_primary(&self) -> Result<(Address, Connection)> {
        let mut failure = Error::new(ErrorKind::Unavailable, "no server answered");
        for address in &self.addresses {
            let found = match self.topology {
                Topology::Server | Topology::Cluster => Ok(Some(address.clone())),
                Topology::Sentinel => self.primary_of(address).await,
            };
            let connected = match found {
                Ok(Some(primary)) => self.connect(&primary).await.map(|to| (primary, to)),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match connected {
                Ok(connected) => return Ok(connected),
                Err(error) => failure = failed(error),
            }
        }
        Err(failure)
    }

    /// The primary that a Sentinel names, if it knows one.
    async fn primary_of(&self, sentinel: &Address) -> RedisResult<Option<Address>> {
        let connection = self.connect_to_sentinel(sentinel).await?;
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", &*self.service];
        connection.request(&words).await
    }

    async fn connect_as(
        &self,
        (host, port): &Address,
        login: RedisConnectionInfo,
    ) -> RedisResult<Connection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(self.timeouts.reply));
        let (inner, task) = if self.opener.has_tls() {
            let stream = self.opener.open(host, *port).await?;
            let opening = MultiplexedConnection::new_with_config(&login, stream, config);
            let opened = timeout(self.timeouts.connect, opening).await;
            let (inner, serving) = opened.map_err(|_| timed_out())??;
            let mut task = JoinSet::new();
            task.spawn(serving);
            (inner, Some(Arc::new(task)))
        } else {
            let address = ConnectionAddr::Tcp(host.clone(), *port);
            let info = address.into_connection_info()?.set_redis_settings(login);
            let client = Client::open(info)?;
            let opening = client.get_multiplexed_async_connection_with_config(&config);
            (opening.await?, None)
        };
        Ok(Connection {
            inner,
            reply_max: self.timeouts.reply,
            _task: task,
        })
    }
}

impl Connection {
    /// Sends a command of these words, and reads its reply.
    pub(crate) async fn request<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word);
        }
        let mut connection = self.inner.clone();
        // The driver's own timeout has the same length, but not for a connection of its own streams.
        let reply = timeout(self.reply_max, command.query_async(&mut connection));
        reply.await.map_err(|_| timed_out())?
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.inner.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// The failure of the driver as an error.
pub(crate) fn failed(error: RedisError) -> Error {
    let kind = match error.code() {
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "the driver of Redis failed").with_source(error)
}

fn timed_out() -> RedisError {
    RedisError::from((DriverKind::Io, "timed out"))
}

fn of_driver(login: &Credentials) -> RedisConnectionInfo {
    let mut info = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3);
    if let Some(user) = login.user() {
        info = info.set_username(user);
    }
    if let Some(password) = login.password() {
        info = info.set_password(password.expose());
    }
    info
}
