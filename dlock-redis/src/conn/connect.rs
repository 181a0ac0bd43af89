//! Address, login and TLS of a server become the driver's client and its connections.

use std::{fmt, time::Duration};

use dlock_core::{Error, ErrorKind, Result, config::Tls};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, IntoConnectionInfo as _,
    ProtocolVersion, PushInfo, RedisConnectionInfo, TlsCertificates, aio::MultiplexedConnection,
};

use crate::{
    config::{Login, RedisConfig},
    errors,
};

/// A host and its port.
pub(crate) type Address = (String, u16);

/// Makes endpoints of servers that take the same login.
#[derive(Clone)]
pub(crate) struct Connector {
    login: Login,
    tls: Option<TlsCertificates>,
    timeouts: Timeouts,
}

/// Bounds of what the driver does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Of connecting.
    pub(crate) connect: Duration,
    /// Of a reply.
    pub(crate) request: Duration,
}

/// One server: its address, login, TLS and timeouts.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    timeouts: Timeouts,
}

impl Connector {
    /// For the servers that have the locks. Reads the certificates.
    pub(crate) fn for_servers(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.login)
    }

    /// For the Sentinels.
    pub(crate) fn for_sentinels(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.sentinel_login)
    }

    fn new(config: &RedisConfig, login: &Login) -> Result<Self> {
        let tls = config.tls.as_ref().map(certificates);
        Ok(Self {
            login: login.clone(),
            tls: tls.transpose()?,
            timeouts: Timeouts {
                connect: config.options.connect_timeout,
                request: config.options.request_timeout,
            },
        })
    }

    /// The server at this address. Does no I/O.
    pub(crate) fn endpoint(&self, (host, port): &Address) -> Result<Endpoint> {
        let (host, port) = (host.clone(), *port);
        let address = match self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let mut login = RedisConnectionInfo::default().set_db(self.login.database);
        if let Some(user) = &self.login.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.login.password {
            login = login.set_password(password.expose());
        }
        let info = address.into_connection_info().map_err(refused_settings)?;
        let info = info.set_redis_settings(with_resp3(login));
        let client = match &self.tls {
            None => Client::open(info),
            Some(tls) => {
                install_crypto_provider();
                Client::build_with_tls(info, tls.clone())
            }
        };
        Ok(Endpoint {
            client: client.map_err(refused_settings)?,
            timeouts: self.timeouts,
        })
    }
}

impl Endpoint {
    /// The server of a client that the user configured.
    pub(crate) fn from_client(client: &Client, timeouts: Timeouts) -> Result<Self> {
        let info = client.get_connection_info().clone();
        let login = with_resp3(info.redis_settings().clone());
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            install_crypto_provider();
        }
        let client = Client::open(info.set_redis_settings(login)).map_err(refused_settings)?;
        Ok(Self { client, timeouts })
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        let info = self.client.get_connection_info();
        matches!(info.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The host name or address of the server.
    pub(crate) fn host(&self) -> &str {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
            _ => "",
        }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<MultiplexedConnection> {
        self.connect_as(self.config()).await
    }

    /// As [`connect`](Self::connect); push messages of the server go to `on_push`.
    pub(crate) async fn connect_pubsub(
        &self,
        on_push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection> {
        let config = self.config().set_push_sender(move |push: PushInfo| {
            on_push(push);
            Ok::<(), redis::aio::SendError>(())
        });
        self.connect_as(config).await
    }

    async fn connect_as(&self, config: AsyncConnectionConfig) -> Result<MultiplexedConnection> {
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        connection.map_err(|error| errors::of_connect(error, self.has_tls()))
    }

    fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(self.timeouts.request))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the client, which has the password.
        f.write_str("Endpoint")
    }
}

fn certificates(files: &Tls) -> Result<TlsCertificates> {
    let client = files
        .load_identity()?
        .map(|(client_cert, client_key)| ClientTlsConfig {
            client_cert,
            client_key,
        });
    Ok(TlsCertificates {
        client_tls: client,
        root_cert: files.load_ca()?,
    })
}

/// RESP3 delivers pub/sub messages on any connection.
fn with_resp3(login: RedisConnectionInfo) -> RedisConnectionInfo {
    login
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("dlock", env!("CARGO_PKG_VERSION"))
}

/// Chooses a provider for rustls, unless the program has chosen one: with two compiled in, rustls panics
/// without a choice.
fn install_crypto_provider() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

fn refused_settings(error: redis::RedisError) -> Error {
    Error::new(ErrorKind::InvalidConfig, "the driver refuses the settings").with_source(error)
}
