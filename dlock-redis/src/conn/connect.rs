//! Address, login and TLS of a server become the driver's client and its connections.

use std::fmt;
#[cfg(feature = "tls")]
use std::io;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Login, Timeouts},
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
    #[cfg(feature = "tls")]
    tls: Option<TlsClient>,
    timeouts: Timeouts,
}

/// One server: its address, login, TLS and timeouts.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// Without TLS.
    client: Client,
    #[cfg(feature = "tls")]
    tls: Option<TlsClient>,
    timeouts: Timeouts,
}

impl Connector {
    /// For the servers that have the locks. Reads the certificates.
    pub(crate) fn for_servers(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.login, config.database)
    }

    /// For the Sentinels.
    pub(crate) fn for_sentinels(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.sentinel_login, 0)
    }

    fn new(config: &RedisConfig, login: &Login, database: u16) -> Result<Self> {
        Ok(Self {
            login: login.clone(),
            database,
            tcp: config.tcp.clone(),
            #[cfg(feature = "tls")]
            tls: config.tls.as_ref().map(TlsClient::new).transpose()?,
            timeouts: config.options.timeouts,
        })
    }

    /// The server at this address. Does no I/O.
    pub(crate) fn endpoint(&self, (host, port): &Address) -> Result<Endpoint> {
        let mut login = RedisConnectionInfo::default().set_db(self.database.into());
        if let Some(user) = self.login.user() {
            login = login.set_username(user);
        }
        if let Some(password) = self.login.password() {
            login = login.set_password(password.expose());
        }
        // RESP3 delivers pub/sub messages on any connection.
        let login = login
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("dlock", env!("CARGO_PKG_VERSION"));
        let address = ConnectionAddr::Tcp(host.clone(), *port);
        let info = address.into_connection_info().map_err(refused_settings)?;
        let info = info.set_tcp_settings(self.tcp.clone());
        let client = Client::open(info.set_redis_settings(login));
        Ok(Endpoint {
            client: client.map_err(refused_settings)?,
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
            timeouts: self.timeouts,
        })
    }
}

impl Endpoint {
    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// The host name or address of the server.
    pub(crate) fn host(&self) -> &str {
        self.address().0
    }

    /// The host and the port.
    pub(crate) fn address(&self) -> (&str, u16) {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) => (host, *port),
            _ => ("", 0),
        }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<DriverConnection> {
        self.connect_as(self.config()).await
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
        self.connect_as(config).await
    }

    async fn connect_as(&self, config: AsyncConnectionConfig) -> Result<DriverConnection> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let info = self.client.get_connection_info();
            let (tcp, login) = (info.tcp_settings(), info.redis_settings());
            let connecting = tls.connect(self.address(), tcp, login, config);
            let connected = tokio::time::timeout(self.timeouts.connect, connecting).await;
            let timed_out = || io::Error::from(io::ErrorKind::TimedOut).into();
            let connected = connected.unwrap_or_else(|_| Err(timed_out()));
            return connected.map_err(|error| errors::of_connect(error, true));
        }
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        let connection = connection.map_err(|error| errors::of_connect(error, false))?;
        Ok(connection.into())
    }

    fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(self.timeouts.reply))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the client, which has the password.
        f.write_str("Endpoint")
    }
}

fn refused_settings(error: redis::RedisError) -> Error {
    Error::new(ErrorKind::InvalidConfig, "the driver refuses the settings").with_source(error)
}
