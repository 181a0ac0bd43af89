//! The settings in the driver's terms.

use dlock_core::{Result, config::Tls};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use super::{address::Address, builder::MySqlConfig, tls::TlsMode};

impl MySqlConfig {
    /// The driver's options: address, user and database.
    pub(crate) fn options(&self) -> MySqlConnectOptions {
        let base = self.base.clone().unwrap_or_default().0;
        let options = base
            .username(self.login.user().unwrap_or_default())
            .database(&self.database);
        match self.address() {
            Address::Tcp { host, port } => options.host(&host).port(port),
            Address::Socket(path) => options.socket(path),
        }
    }

    /// Adds the password to the driver's options. Reads its file, if it has one.
    pub(crate) fn with_password(
        &self,
        options: MySqlConnectOptions,
    ) -> Result<MySqlConnectOptions> {
        Ok(match self.login.read()?.password() {
            Some(password) => options.password(password.expose()),
            None => options,
        })
    }

    /// Adds TLS to the driver's options. Reads the files. The driver names aws-lc-rs as its provider.
    pub(crate) fn with_tls(&self, options: MySqlConnectOptions) -> Result<MySqlConnectOptions> {
        let (mode, tls) = (self.encryption.mode(), &self.encryption.tls);
        let mut options = options.ssl_mode(mode_of_driver(mode));
        // The driver's own settings have their own files.
        if mode.is_verified() && (self.base.is_none() || tls.is_some()) {
            let tls = tls.clone().unwrap_or_default();
            options = options.ssl_ca_from_pem(tls.load_ca_or_system()?);
        }
        let identity = tls.as_ref().map(Tls::load_identity).transpose()?;
        Ok(match identity.flatten() {
            Some((cert, key)) => options
                .ssl_client_cert_from_pem(cert)
                .ssl_client_key_from_pem(key),
            None => options,
        })
    }
}

fn mode_of_driver(mode: TlsMode) -> MySqlSslMode {
    match mode {
        TlsMode::Disabled => MySqlSslMode::Disabled,
        TlsMode::Preferred => MySqlSslMode::Preferred,
        TlsMode::Required => MySqlSslMode::Required,
        TlsMode::VerifyCa => MySqlSslMode::VerifyCa,
        TlsMode::VerifyIdentity => MySqlSslMode::VerifyIdentity,
    }
}
