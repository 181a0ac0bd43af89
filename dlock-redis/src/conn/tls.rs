//! TLS with a provider that dlock names. The driver would use the provider of the process. It panics where two
//! are compiled in and none was chosen.

use std::{io, net::SocketAddr};

use dlock_core::{Result, config::Tls};
use redis::{
    AsyncConnectionConfig, ErrorKind as RedisErrorKind, RedisConnectionInfo, RedisError,
    RedisResult,
    aio::MultiplexedConnection,
    io::tcp::{TcpSettings, socket2::SockRef},
};
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{driver::DriverConnection, system};

/// Opens an encrypted connection.
pub(super) struct TlsClient {
    connector: TlsConnector,
}

impl TlsClient {
    /// Reads the certificates.
    pub(super) fn new(files: &Tls) -> Result<Self> {
        let connector = TlsConnector::from(files.client_config()?);
        Ok(Self { connector })
    }

    /// Connects and logs in.
    pub(super) async fn connect(
        &self,
        (host, port): (&str, u16),
        tcp: &TcpSettings,
        login: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> RedisResult<DriverConnection> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            let why = (RedisErrorKind::InvalidClientConfig, "not a name for TLS");
            RedisError::from((why.0, why.1, error.to_string()))
        })?;
        let addresses = tokio::net::lookup_host((host, port)).await?;
        let stream = self.first(addresses, tcp, name).await?;
        let opened = MultiplexedConnection::new_with_config(login, stream, config);
        let (connection, task) = opened.await?;
        Ok(DriverConnection::spawn(connection, task))
    }

    /// The first address that answers, as the driver does without TLS.
    async fn first(
        &self,
        addresses: impl Iterator<Item = SocketAddr>,
        tcp: &TcpSettings,
        name: ServerName<'static>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut tries = JoinSet::new();
        for address in addresses {
            tries.spawn(open(
                address,
                tcp.clone(),
                self.connector.clone(),
                name.clone(),
            ));
        }
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        while let Some(tried) = tries.join_next().await {
            match tried.unwrap_or_else(|error| Err(error.into())) {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

async fn open(
    address: SocketAddr,
    tcp: TcpSettings,
    connector: TlsConnector,
    name: ServerName<'static>,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(tcp.nodelay())?;
    if let Some(keepalive) = tcp.keepalive() {
        SockRef::from(&stream).set_tcp_keepalive(keepalive)?;
    }
    system::set_user_timeout(SockRef::from(&stream), &tcp)?;
    connector.connect(name, stream).await
}
