//! TLS with a provider that dlock names. The driver would use the provider of the process. It panics where two
//! are compiled in and none was chosen.

use std::{io, net::SocketAddr, sync::Arc};

use dlock_core::{Error, ErrorKind, Result, config::Tls};
use redis::{
    AsyncConnectionConfig, ErrorKind as RedisErrorKind, RedisConnectionInfo, RedisError,
    RedisResult,
    aio::MultiplexedConnection,
    io::tcp::{TcpSettings, socket2::SockRef},
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::driver::DriverConnection;

/// Opens encrypted connections.
#[derive(Clone)]
pub(super) struct TlsClient {
    connector: TlsConnector,
}

impl TlsClient {
    /// Reads the certificates.
    pub(super) fn new(files: &Tls) -> Result<Self> {
        // A choice that the program has made counts.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(roots(files)?);
        let config = match files.load_identity()? {
            Some((cert, key)) => {
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(unusable)?;
                config
                    .with_client_auth_cert(certificates(&cert)?, key)
                    .map_err(unusable)?
            }
            None => config.with_no_client_auth(),
        };
        let connector = TlsConnector::from(Arc::new(config));
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
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    SockRef::from(&stream).set_tcp_user_timeout(tcp.user_timeout())?;
    connector.connect(name, stream).await
}

/// The authorities to trust.
fn roots(files: &Tls) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let trusted = match files.load_ca()? {
        Some(pem) => certificates(&pem)?,
        None => {
            let mut found = rustls_native_certs::load_native_certs();
            if let Some(error) = found.errors.pop() {
                return Err(unusable(error));
            }
            found.certs
        }
    };
    for certificate in trusted {
        roots.add(certificate).map_err(unusable)?;
    }
    Ok(roots)
}

/// Core has checked that the file has certificates.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(unusable)
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let why = "the certificates or the key cannot be used for TLS";
    Error::new(ErrorKind::InvalidConfig, why).with_source(error)
}
