//! Certificates, read from files.

use dlock_core::{Error, ErrorKind, Result, config::Settings};
use zookeeper_client::TlsOptions;

/// Where the systems have the authorities that they trust.
const SYSTEM_CA: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

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
        let client = match (
            settings.take_str("tls_cert")?,
            settings.take_str("tls_key")?,
        ) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            // K11: never fall back to something weaker than what was meant.
            _ => return Err(settings.refuse("tls_cert and tls_key go together, one is missing")),
        };
        Ok(Self { ca, client })
    }

    /// Reads the files.
    pub(crate) fn options(&self) -> Result<TlsOptions> {
        // A program in which another crate turned on a second provider would panic without a choice.
        // If it has made one itself, that counts.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let path = match &self.ca {
            Some(path) => path,
            None => system_ca()?,
        };
        let options = TlsOptions::new();
        let options = options
            .with_pem_ca(&read(path)?)
            .map_err(|error| unfit(path, "certificate", error))?;
        let Some((cert, key)) = &self.client else {
            return Ok(options);
        };
        options
            .with_pem_identity(&read(cert)?, &read(key)?)
            .map_err(|error| unfit(&format!("{cert} or {key}"), "certificate or key", error))
    }
}

fn system_ca() -> Result<&'static str> {
    let found = SYSTEM_CA.into_iter().find(|path| {
        let file = std::fs::metadata(path);
        file.is_ok_and(|file| file.is_file())
    });
    found.ok_or_else(|| {
        let why = "this machine has no list of trusted authorities; give one by tls_ca=";
        Error::new(ErrorKind::InvalidConfig, why)
    })
}

fn unfit(path: &str, what: &str, error: zookeeper_client::Error) -> Error {
    let why = format!("{path} has no {what} in PEM form");
    Error::new(ErrorKind::InvalidConfig, why).with_source(error)
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let why = format!("cannot read {path}");
        Error::new(ErrorKind::InvalidConfig, why).with_source(error)
    })
}
