//! Address, login and TLS of a server become the driver's client and its connections.

use std::fmt;
#[cfg(feature = "tls")]
use std::io;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Login, Timeouts, Tls},
};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion,
    PushInfo, RedisConnectionInfo, io::tcp::TcpSettings,
};

use super::driver::DriverConnection;
#[cfg(feature = "tls")]
use super::tls::TlsClient;
use crate::{config::RedisConfig, errors};

/// A host and its port.
pub(crate) type Address = (String, u16);

/// Makes endpoints of servers that take the same login.
#[derive(Clone)]
pub(crate) struct Connector {
    login: Login,
    database: u16,
    tcp: TcpSettings,
    tls: Option<Tls>,
    timeouts: Timeouts,
}

/// One server: its address, login, TLS and timeouts. Password and certificates are read again for each connection.
#[derive(Clone)]
pub(crate) struct Endpoint {
    address: Address,
    connector: Connector,
}

impl Connector {
    /// For the servers that have the locks. Reads the password and the certificates.
    pub(crate) fn for_servers(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.login, config.database)
    }

    /// For the Sentinels.
    pub(crate) fn for_sentinels(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.sentinel_login, 0)
    }

    fn new(config: &RedisConfig, login: &Login, database: u16) -> Result<Self> {
        // What cannot be used is reported before any request (K11).
        login.read()?;
        if let Some(tls) = &config.tls {
            tls.load_ca()?;
            tls.load_identity()?;
        }
        Ok(Self {
            login: login.clone(),
            database,
            tcp: config.tcp.clone(),
            tls: config.tls.clone(),
            timeouts: config.options.timeouts,
        })
    }

    /// The server at this address.
    pub(crate) fn endpoint(&self, address: &Address) -> Endpoint {
        Endpoint {
            address: address.clone(),
            connector: self.clone(),
        }
    }

    /// The login in the driver's terms, with the present password.
    fn login(&self) -> Result<RedisConnectionInfo> {
        let credentials = self.login.read()?;
        let mut login = RedisConnectionInfo::default().set_db(self.database.into());
        if let Some(user) = credentials.user() {
            login = login.set_username(user);
        }
        if let Some(password) = credentials.password() {
            login = login.set_password(password.expose());
        }
        // RESP3 delivers pub/sub messages on any connection.
        Ok(login
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("dlock", env!("CARGO_PKG_VERSION")))
    }
}

impl Endpoint {
    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.connector.tls.is_some()
    }

    /// The host name or address of the server.
    pub(crate) fn host(&self) -> &str {
        self.address().0
    }

    /// The host and the port.
    pub(crate) fn address(&self) -> (&str, u16) {
        (&self.address.0, self.address.1)
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.connector.timeouts
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<DriverConnection> {
        let connected = self.connect_as(self.config()).await;
        connected.map_err(|error| self.name_in(error))
    }

    /// As [`connect`](Self::connect); push messages of the server go to `on_push`.
    pub(crate) async fn connect_pubsub(
        &self,
        on_push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<DriverConnection> {
        let config = self.config().set_push_sender(move |push: PushInfo| {
            on_push(push);
            Ok::<(), redis::aio::SendError>(())
        });
        let connected = self.connect_as(config).await;
        connected.map_err(|error| self.name_in(error))
    }

    /// The error with the address of this server.
    pub(crate) fn name_in(&self, error: Error) -> Error {
        let (host, port) = self.address();
        match host.contains(':') {
            true => error.at(format_args!("[{host}]:{port}")),
            false => error.at(format_args!("{host}:{port}")),
        }
    }

    async fn connect_as(&self, config: AsyncConnectionConfig) -> Result<DriverConnection> {
        let login = self.connector.login()?;
        #[cfg(feature = "tls")]
        if let Some(files) = &self.connector.tls {
            let tls = TlsClient::new(files)?;
            let connecting = tls.connect(self.address(), &self.connector.tcp, &login, config);
            let connected = tokio::time::timeout(self.timeouts().connect, connecting).await;
            let timed_out = || io::Error::from(io::ErrorKind::TimedOut).into();
            let connected = connected.unwrap_or_else(|_| Err(timed_out()));
            return connected.map_err(|error| errors::of_connect(error, true));
        }
        let (host, port) = self.address.clone();
        let address = ConnectionAddr::Tcp(host, port);
        let info = address.into_connection_info().map_err(refused_settings)?;
        let info = info.set_tcp_settings(self.connector.tcp.clone());
        let client = Client::open(info.set_redis_settings(login)).map_err(refused_settings)?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        let connection = connection.map_err(|error| errors::of_connect(error, false))?;
        Ok(connection.into())
    }

    fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts().connect))
            .set_response_timeout(Some(self.timeouts().reply))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

fn refused_settings(error: redis::RedisError) -> Error {
    Error::new(ErrorKind::InvalidConfig, "the driver refuses the settings").with_source(error)
}
