//! The settings of a client for a backend that makes the encrypted stream itself.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use super::Tls;
use crate::base::error::{Error, ErrorKind, Result};

impl Tls {
    /// Reads the files and makes the settings of a client, with the provider of the process, or aws-lc-rs if the
    /// program has chosen none.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a file that cannot be read or used, and on a system without a list of authorities.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>> {
        // rustls panics where two providers are compiled in and the program has chosen none.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(self.roots()?);
        let config = match self.load_identity()? {
            Some((cert, key)) => {
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(unusable)?;
                config
                    .with_client_auth_cert(certificates(&cert)?, key)
                    .map_err(unusable)?
            }
            None => config.with_no_client_auth(),
        };
        Ok(Arc::new(config))
    }

    /// The authorities to trust.
    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let trusted = match self.load_ca()? {
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
}

/// The file has certificates: that was checked when it was read.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(unusable)
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let why = "the certificates or the key cannot be used for TLS";
    Error::new(ErrorKind::InvalidConfig, why).with_source(error)
}
