//! Encryption of a stream, with a provider that dlock names.

use dlock_core::{Result, config::Tls};
use tokio::net::TcpStream;

use super::io::Stream;

/// Encrypts streams.
#[derive(Clone)]
pub(crate) struct TlsClient {
    #[cfg(feature = "tls")]
    connector: tokio_rustls::TlsConnector,
}

#[cfg(not(feature = "tls"))]
impl TlsClient {
    /// Refuses, as TLS is not built in.
    pub(crate) fn new(_: &Tls) -> Result<Self> {
        Err(Tls::left_out())
    }

    pub(super) async fn encrypt(&self, _: &str, _: TcpStream) -> std::io::Result<Stream> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(feature = "tls")]
mod built_in {
    use std::io;

    use rustls::pki_types::ServerName;

    use super::{Result, Stream, TcpStream, Tls, TlsClient};

    impl TlsClient {
        /// Reads the certificates.
        pub(crate) fn new(files: &Tls) -> Result<Self> {
            let connector = files.client_config()?.into();
            Ok(Self { connector })
        }

        pub(in crate::driver) async fn encrypt(
            &self,
            host: &str,
            stream: TcpStream,
        ) -> io::Result<Stream> {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            Ok(Box::new(self.connector.connect(name, stream).await?))
        }
    }
}
