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
    use std::{io, sync::Arc};

    use dlock_core::{Error, ErrorKind};
    use rustls::{
        ClientConfig, RootCertStore,
        crypto::{CryptoProvider, aws_lc_rs},
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    };

    use super::{Result, Stream, TcpStream, Tls, TlsClient};

    impl TlsClient {
        /// Reads the certificates.
        pub(crate) fn new(files: &Tls) -> Result<Self> {
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
            let connector = Arc::new(config).into();
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

    fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
        CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(unusable)
    }

    fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        let why = "the certificates or the key cannot be used for TLS";
        Error::new(ErrorKind::InvalidConfig, why).with_source(error)
    }
}
