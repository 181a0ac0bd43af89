//! Whether connections are encrypted, and by which certificates.

use std::path::Path;

use dlock_core::{Result, config::Settings};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

/// Where the systems have the authorities that they trust.
const SYSTEM_CA: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The modes of the mysql client, by the same names.
const MODES: [(&str, MySqlSslMode); 5] = [
    ("disabled", MySqlSslMode::Disabled),
    ("preferred", MySqlSslMode::Preferred),
    ("required", MySqlSslMode::Required),
    ("verify_ca", MySqlSslMode::VerifyCa),
    ("verify_identity", MySqlSslMode::VerifyIdentity),
];

/// How connections are encrypted.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    mode: MySqlSslMode,
    ca: Option<String>,
    /// Certificate and key of the client.
    client: Option<(String, String)>,
    /// Not by default.
    pub(crate) is_given: bool,
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
        let given = settings.take_str("tls")?;
        let is_given = given.is_some() || ca.is_some() || client.is_some();
        let mode = match given {
            Some(given) => mode(settings, &given)?,
            // Who names an authority wants it asked.
            None if ca.is_some() => MySqlSslMode::VerifyIdentity,
            None if client.is_some() => MySqlSslMode::Required,
            None => MySqlSslMode::Preferred,
        };
        let is_verified = matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity);
        if ca.is_some() && !is_verified {
            let why = "tls_ca is asked only with tls=verify_ca or tls=verify_identity";
            return Err(settings.refuse(why));
        }
        if client.is_some() && matches!(mode, MySqlSslMode::Disabled | MySqlSslMode::Preferred) {
            let why = "tls_cert needs tls=required, verify_ca or verify_identity";
            return Err(settings.refuse(why));
        }
        Ok(Self {
            mode,
            ca,
            client,
            is_given,
        })
    }

    pub(crate) fn apply(&self, options: MySqlConnectOptions) -> MySqlConnectOptions {
        // A program in which another crate turned on a second provider would panic without a choice.
        // If it has made one itself, that counts.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let options = options.ssl_mode(self.mode);
        let system = || SYSTEM_CA.into_iter().find(|path| Path::new(path).is_file());
        let options = match (&self.ca, self.mode) {
            (Some(ca), _) => options.ssl_ca(ca),
            (None, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity) => match system() {
                Some(ca) => options.ssl_ca(ca),
                None => options,
            },
            (None, _) => options,
        };
        match &self.client {
            Some((cert, key)) => options.ssl_client_cert(cert).ssl_client_key(key),
            None => options,
        }
    }
}

fn mode(settings: &Settings, given: &str) -> Result<MySqlSslMode> {
    let found = MODES.into_iter().find(|(name, _)| *name == given);
    found.map(|(_, mode)| mode).ok_or_else(|| {
        let names = MODES.map(|(name, _)| name).join(", ");
        settings.refuse(format!("tls={given}: allowed are {names}"))
    })
}
