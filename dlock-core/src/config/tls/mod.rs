//! The files of an encrypted connection: the same keys, rules and messages for every store.

#[cfg(feature = "rustls")]
mod client;
#[cfg(feature = "rustls")]
mod pair;
mod pem;

use std::path::PathBuf;

use self::pem::{certificates, private_key};
use super::settings::Settings;
use crate::base::error::{Error, ErrorKind, Result};

/// The files in which systems keep the authorities that they trust.
const SYSTEM_CA: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The files of an encrypted connection, in PEM form, of at most 1 MiB: what `tls_ca`, `tls_cert` and `tls_key`
/// name.
///
/// Each file is checked: drivers accept one without a certificate, and trust no server then. Each backend
/// says when it reads them.
///
/// ```
/// use dlock_core::config::Tls;
///
/// // The authorities that the system trusts:
/// let tls = Tls::new();
/// // One of your own, which wants a client's certificate, too:
/// let tls = Tls::new()
///     .ca("/etc/dlock/ca.pem")
///     .identity("/etc/dlock/client.pem", "/etc/dlock/client.key");
/// assert!(tls.has_ca() && tls.has_identity());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    ca: Option<PathBuf>,
    /// Certificate and key of the client.
    identity: Option<(PathBuf, PathBuf)>,
}

/// The alerts of a server that does not trust the client's certificate, or misses one
/// (RFC 8446, section 6.2).
const ALERTS_OF_CLIENT: [u8; 10] = [
    40,  // handshake_failure
    42,  // bad_certificate
    43,  // unsupported_certificate
    44,  // certificate_revoked
    45,  // certificate_expired
    46,  // certificate_unknown
    48,  // unknown_ca
    49,  // access_denied
    51,  // decrypt_error
    116, // certificate_required
];

impl Tls {
    /// The kind and text of the error that the client does not trust the server's certificate.
    pub const UNTRUSTED: (ErrorKind, &'static str) = (
        ErrorKind::InvalidConfig,
        "the server's certificate is not trusted; give its authority by tls_ca=",
    );

    /// The kind and text of the error for an alert of the server; `None` if the alert with this number is not
    /// about the client's certificate.
    #[must_use]
    pub fn of_alert(number: u8) -> Option<(ErrorKind, &'static str)> {
        ALERTS_OF_CLIENT.contains(&number).then_some((
            ErrorKind::Denied,
            "the server wants a client's certificate that it trusts; give it by tls_cert= and \
             tls_key=",
        ))
    }

    /// Makes the settings of a client that trusts the system's authorities, and has no certificate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the file of the certificates to trust, in place of the system's.
    #[must_use]
    pub fn ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(path.into());
        self
    }

    /// Sets the files of the client's certificate and of its key.
    #[must_use]
    pub fn identity(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.identity = Some((cert.into(), key.into()));
        self
    }

    /// The error for TLS in a backend that was built without it.
    #[must_use]
    pub fn left_out() -> Error {
        let why = "TLS is not built in; turn on the cargo feature \"tls\" of dlock";
        Error::new(ErrorKind::InvalidConfig, why)
    }

    /// Reads the keys `tls_ca`, `tls_cert` and `tls_key`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if only one of `tls_cert` and `tls_key` is given: nothing falls back to
    /// something weaker than what was meant (K11).
    pub fn take(settings: &mut Settings) -> Result<Self> {
        let ca = settings.take_str("tls_ca")?.map(PathBuf::from);
        let identity = match (
            settings.take_str("tls_cert")?,
            settings.take_str("tls_key")?,
        ) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            _ => return Err(settings.invalid("tls_cert and tls_key go together, one is missing")),
        };
        Ok(Self { ca, identity })
    }

    /// Whether there is a file of certificates to trust.
    #[must_use]
    pub fn has_ca(&self) -> bool {
        self.ca.is_some()
    }

    /// Whether the client has a certificate.
    #[must_use]
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Reads the certificates to trust; `None` for those of the system.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a file that cannot be read or has no certificate.
    pub fn load_ca(&self) -> Result<Option<Vec<u8>>> {
        self.ca.as_deref().map(certificates).transpose()
    }

    /// Reads the certificates to trust, those of the system included: for drivers that do not find them.
    ///
    /// # Errors
    ///
    /// As [`load_ca`](Self::load_ca), and on a system without a list of authorities.
    pub fn load_ca_or_system(&self) -> Result<Vec<u8>> {
        match &self.ca {
            Some(path) => certificates(path),
            None => certificates(system_ca()?.as_ref()),
        }
    }

    /// Reads the client's certificate and its key, if they are given.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a file that cannot be read or has none, and for a key of another certificate. That needs the
    /// cargo feature `rustls`.
    pub fn load_identity(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some((cert, key)) = &self.identity else {
            return Ok(None);
        };
        let identity = (certificates(cert)?, private_key(key)?);
        #[cfg(feature = "rustls")]
        if !pair::belong_together(&identity.0, &identity.1) {
            let (cert, key) = (cert.display(), key.display());
            let why = format!("the key {key} is not that of the certificate {cert}");
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        Ok(Some(identity))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_about_the_clients_certificate_says_what_to_do() {
        // handshake_failure as by older servers, unknown_ca, certificate_required
        for number in [40, 48, 116] {
            let (kind, hint) = Tls::of_alert(number).expect("known");
            assert_eq!(kind, ErrorKind::Denied, "{number}");
            assert!(hint.contains("tls_cert="), "{number}");
        }
        // close_notify, internal_error
        assert_eq!(Tls::of_alert(0), None);
        assert_eq!(Tls::of_alert(80), None);
    }
}
