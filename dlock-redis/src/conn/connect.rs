//! How a server is dialled: address, login and TLS become the driver's client.

use std::{fmt, time::Duration};

use dlock_core::{Error, ErrorKind, Result, config::TlsFiles};
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

/// Dials servers that take the same login.
#[derive(Clone)]
pub(crate) struct Dialer {
    login: Login,
    tls: Option<TlsCertificates>,
    bounds: Bounds,
}

/// How long a connection takes at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// To be made.
    pub(crate) connect_max: Duration,
    /// To answer.
    pub(crate) answer_max: Duration,
}

/// One server and all that is needed to connect to it.
#[derive(Clone)]
pub(crate) struct Line {
    client: Client,
    bounds: Bounds,
}

impl Dialer {
    /// For the servers that keep the locks. Reads the certificates.
    pub(crate) fn of_servers(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.login)
    }

    /// For the Sentinels.
    pub(crate) fn of_sentinels(config: &RedisConfig) -> Result<Self> {
        Self::new(config, &config.sentinel_login)
    }

    fn new(config: &RedisConfig, login: &Login) -> Result<Self> {
        let tls = config.tls.as_ref().map(certificates);
        Ok(Self {
            login: login.clone(),
            tls: tls.transpose()?,
            bounds: Bounds {
                connect_max: config.options.connect_max,
                answer_max: config.options.answer_max,
            },
        })
    }

    /// Does no I/O yet.
    pub(crate) fn line(&self, (host, port): &Address) -> Result<Line> {
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
        let info = address.into_connection_info().map_err(refused)?;
        let info = info.set_redis_settings(spoken(login));
        let client = match &self.tls {
            None => Client::open(info),
            Some(tls) => {
                provide_cryptography();
                Client::build_with_tls(info, tls.clone())
            }
        };
        Ok(Line {
            client: client.map_err(refused)?,
            bounds: self.bounds,
        })
    }
}

impl Line {
    /// The server of a client that the user has made.
    pub(crate) fn given(client: &Client, bounds: Bounds) -> Result<Self> {
        let info = client.get_connection_info().clone();
        let login = spoken(info.redis_settings().clone());
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            provide_cryptography();
        }
        let client = Client::open(info.set_redis_settings(login)).map_err(refused)?;
        Ok(Self { client, bounds })
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        let info = self.client.get_connection_info();
        matches!(info.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The name or address that is dialled.
    pub(crate) fn host(&self) -> &str {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
            _ => "",
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<MultiplexedConnection> {
        self.connect_as(self.config()).await
    }

    /// As [`connect`](Self::connect); what the server says unasked goes to `hear`.
    pub(crate) async fn connect_hearing(
        &self,
        hear: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection> {
        let config = self.config().set_push_sender(move |push: PushInfo| {
            hear(push);
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
            .set_connection_timeout(Some(self.bounds.connect_max))
            .set_response_timeout(Some(self.bounds.answer_max))
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the client: it has the password.
        f.write_str("Line")
    }
}

fn certificates(files: &TlsFiles) -> Result<TlsCertificates> {
    let client = files
        .client()?
        .map(|(client_cert, client_key)| ClientTlsConfig {
            client_cert,
            client_key,
        });
    Ok(TlsCertificates {
        client_tls: client,
        root_cert: files.ca()?,
    })
}

/// The third protocol tells of releases on any connection.
fn spoken(login: RedisConnectionInfo) -> RedisConnectionInfo {
    login
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("dlock", env!("CARGO_PKG_VERSION"))
}

/// A program in which another crate turned on a second provider would panic without a choice. If it has
/// made one itself, that counts.
fn provide_cryptography() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

fn refused(error: redis::RedisError) -> Error {
    Error::new(ErrorKind::InvalidConfig, "the driver refuses the settings").with_source(error)
}
