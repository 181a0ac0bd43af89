//! Certificates, read from files.

use dlock_core::{Error, ErrorKind, Result, config::Settings};
use etcd_client::{Certificate, Identity, TlsOptions};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

/// The files of an encrypted connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    ca: Option<String>,
    /// Certificate and key of the client.
    client: Option<(String, String)>,
}

impl Tls {
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let ca = settings.take_str("tls_ca")?;
        let (cert, key) = (
            settings.take_str("tls_cert")?,
            settings.take_str("tls_key")?,
        );
        let client = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            // K11: never fall back to something weaker than what was meant.
            _ => return Err(settings.refuse("tls_cert and tls_key go together, one is missing")),
        };
        Ok(Self { ca, client })
    }

    pub(crate) fn has_certificate(&self) -> bool {
        self.client.is_some()
    }

    /// Reads the files.
    pub(crate) fn options(&self) -> Result<TlsOptions> {
        let mut options = match &self.ca {
            Some(ca) => TlsOptions::new().ca_certificate(Certificate::from_pem(certificates(ca)?)),
            None => TlsOptions::new().with_native_roots(),
        };
        if let Some((cert, key)) = &self.client {
            options = options.identity(Identity::from_pem(certificates(cert)?, private_key(key)?));
        }
        Ok(options)
    }
}

/// The driver takes a file without a certificate, and trusts nobody then.
fn certificates(path: &str) -> Result<Vec<u8>> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(text),
        Ok(_) => Err(unfit(path, "certificate")),
        Err(error) => Err(unfit(path, "certificate").with_source(error)),
    }
}

fn private_key(path: &str) -> Result<Vec<u8>> {
    let text = read(path)?;
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(unfit(path, "private key").with_source(error)),
    }
}

fn unfit(path: &str, what: &str) -> Error {
    let why = format!("{path} has no {what} in PEM form");
    Error::new(ErrorKind::InvalidConfig, why)
}

fn read(path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let why = format!("cannot read {path}");
        Error::new(ErrorKind::InvalidConfig, why).with_source(error)
    })
}
