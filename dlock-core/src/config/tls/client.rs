//! The settings of a client for a backend that makes the encrypted stream itself.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{PrivateKeyDer, pem::PemObject as _},
};

use super::{
    Tls,
    pair::{chain, provider},
};
use crate::base::error::{Error, ErrorKind, Result};

impl Tls {
    /// Reads the files and makes the settings of a client, with the provider of the process, or aws-lc-rs if the
    /// program has chosen none.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a file that cannot be read or used, and on a system without a list of authorities.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(self.roots()?);
        let config = match self.load_identity()? {
            Some((cert, key)) => {
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(unusable)?;
                config
                    .with_client_auth_cert(chain(&cert).map_err(unusable)?, key)
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
            Some(pem) => chain(&pem).map_err(unusable)?,
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

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let why = "the certificates or the key cannot be used for TLS";
    Error::new(ErrorKind::InvalidConfig, why).with_source(error)
}
