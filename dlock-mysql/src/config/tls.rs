//! TLS settings: the mode, and the certificates.

use dlock_core::{
    Result,
    config::{Settings, Tls as TlsFiles},
};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

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
    files: TlsFiles,
    /// Not by default.
    pub(crate) is_given: bool,
}

impl Tls {
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let files = TlsFiles::take(settings)?;
        let (has_ca, has_client) = (files.has_ca(), files.has_identity());
        let given = settings.take_str("tls")?;
        let is_given = given.is_some() || has_ca || has_client;
        let mode = match given {
            Some(given) => mode(settings, &given)?,
            // A named authority is meant to be used.
            None if has_ca => MySqlSslMode::VerifyIdentity,
            None if has_client => MySqlSslMode::Required,
            None => MySqlSslMode::Preferred,
        };
        let is_verified = matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity);
        if has_ca && !is_verified {
            let why = "tls_ca is asked only with tls=verify_ca or tls=verify_identity";
            return Err(settings.invalid(why));
        }
        if has_client && matches!(mode, MySqlSslMode::Disabled | MySqlSslMode::Preferred) {
            let why = "tls_cert needs tls=required, verify_ca or verify_identity";
            return Err(settings.invalid(why));
        }
        Ok(Self {
            mode,
            files,
            is_given,
        })
    }

    /// Reads the files.
    pub(crate) fn apply(&self, options: MySqlConnectOptions) -> Result<MySqlConnectOptions> {
        // A program in which another crate turned on a second provider would panic without a choice.
        // If it has made one itself, that counts.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let options = options.ssl_mode(self.mode);
        let options = match self.mode {
            MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity => {
                options.ssl_ca_from_pem(self.files.load_ca_or_system()?)
            }
            _ => options,
        };
        Ok(match self.files.load_identity()? {
            Some((cert, key)) => options
                .ssl_client_cert_from_pem(cert)
                .ssl_client_key_from_pem(key),
            None => options,
        })
    }
}

fn mode(settings: &Settings, given: &str) -> Result<MySqlSslMode> {
    let found = MODES.into_iter().find(|(name, _)| *name == given);
    found.map(|(_, mode)| mode).ok_or_else(|| {
        let names = MODES.map(|(name, _)| name).join(", ");
        settings.invalid(format!("tls={given}: allowed are {names}"))
    })
}
