//! TLS settings: the mode, and the certificates.

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Settings, Tls},
};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use super::{Address, MySqlConfig};

/// Whether connections are encrypted, and what is verified: the modes of the mysql client, by the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Not encrypted.
    Disabled,
    /// Encrypted if the server can, without a check of its certificate.
    Preferred,
    /// Encrypted, without a check of the server's certificate.
    Required,
    /// Encrypted, and an authority that is trusted has signed the server's certificate.
    VerifyCa,
    /// As `VerifyCa`, and the certificate is of this host.
    VerifyIdentity,
}

impl TlsMode {
    const NAMES: [(&str, Self); 5] = [
        ("disabled", Self::Disabled),
        ("preferred", Self::Preferred),
        ("required", Self::Required),
        ("verify_ca", Self::VerifyCa),
        ("verify_identity", Self::VerifyIdentity),
    ];

    fn is_verified(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyIdentity)
    }

    /// Whether a server without TLS will do.
    fn is_optional(self) -> bool {
        matches!(self, Self::Disabled | Self::Preferred)
    }

    fn of_driver(self) -> MySqlSslMode {
        match self {
            Self::Disabled => MySqlSslMode::Disabled,
            Self::Preferred => MySqlSslMode::Preferred,
            Self::Required => MySqlSslMode::Required,
            Self::VerifyCa => MySqlSslMode::VerifyCa,
            Self::VerifyIdentity => MySqlSslMode::VerifyIdentity,
        }
    }
}

impl MySqlConfig {
    /// The mode that applies: given, or the safe one for the files that are.
    fn mode(&self) -> TlsMode {
        let default = match self.tls {
            // A named authority is meant to be used.
            Some(_) => TlsMode::VerifyIdentity,
            None => TlsMode::Preferred,
        };
        self.tls_mode.unwrap_or(default)
    }

    /// Refuses what would be ignored.
    pub(super) fn check_tls(&self) -> Result<()> {
        let invalid = |why: &'static str| Err(Error::new(ErrorKind::InvalidConfig, why));
        let mode = self.mode();
        let is_given = self.tls.is_some() || self.tls_mode.is_some();
        if is_given && matches!(self.address(), Address::Socket(_)) {
            return invalid("a socket is of this machine and has no TLS");
        }
        if cfg!(not(feature = "tls")) && !mode.is_optional() {
            return Err(Tls::left_out());
        }
        if self.tls.as_ref().is_some_and(Tls::has_ca) && !mode.is_verified() {
            return invalid("tls_ca is asked only with tls=verify_ca or tls=verify_identity");
        }
        if self.tls.is_some() && mode.is_optional() {
            return invalid("tls_cert needs tls=required, verify_ca or verify_identity");
        }
        Ok(())
    }

    /// Adds TLS to the driver's options. Reads the files. The driver names aws-lc-rs as its provider.
    pub(crate) fn with_tls(&self, options: MySqlConnectOptions) -> Result<MySqlConnectOptions> {
        let (mode, tls) = (self.mode(), self.tls.clone().unwrap_or_default());
        let mut options = options.ssl_mode(mode.of_driver());
        // The driver's own settings have their own files.
        if mode.is_verified() && (self.base.is_none() || self.tls.is_some()) {
            options = options.ssl_ca_from_pem(tls.load_ca_or_system()?);
        }
        Ok(match tls.load_identity()? {
            Some((cert, key)) => options
                .ssl_client_cert_from_pem(cert)
                .ssl_client_key_from_pem(key),
            None => options,
        })
    }
}

/// The files and the mode of a URL.
pub(super) fn take(settings: &mut Settings) -> Result<(Option<Tls>, Option<TlsMode>)> {
    let tls = Tls::take(settings)?;
    let mode = match settings.take_str("tls")? {
        Some(given) => Some(mode_of(settings, &given)?),
        None if tls.has_identity() && !tls.has_ca() => Some(TlsMode::Required),
        None => None,
    };
    let is_given = tls.has_ca() || tls.has_identity();
    Ok((is_given.then_some(tls), mode))
}

fn mode_of(settings: &Settings, given: &str) -> Result<TlsMode> {
    let found = TlsMode::NAMES.into_iter().find(|(name, _)| *name == given);
    found.map(|(_, mode)| mode).ok_or_else(|| {
        let names = TlsMode::NAMES.map(|(name, _)| name).join(", ");
        settings.invalid(format!("tls={given}: allowed are {names}"))
    })
}
