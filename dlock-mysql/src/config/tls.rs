//! TLS settings: the mode, and the certificates.

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Settings, Tls},
};

use super::address::Address;

/// Whether connections are encrypted, and what is verified: the modes of the mysql client, by the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

    pub(super) fn is_verified(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyIdentity)
    }

    /// Whether a server without TLS will do.
    fn is_optional(self) -> bool {
        matches!(self, Self::Disabled | Self::Preferred)
    }
}

/// The files and the mode, where they are given.
#[derive(Clone, Debug, Default)]
pub(super) struct Encryption {
    pub(super) tls: Option<Tls>,
    pub(super) mode: Option<TlsMode>,
}

impl Encryption {
    /// Reads the keys of a URL.
    pub(super) fn take(settings: &mut Settings) -> Result<Self> {
        let tls = Tls::take(settings)?;
        let mode = match settings.take_choice("tls", TlsMode::NAMES)? {
            None if tls.has_identity() && !tls.has_ca() => Some(TlsMode::Required),
            mode => mode,
        };
        let is_given = tls.has_ca() || tls.has_identity();
        Ok(Self {
            tls: is_given.then_some(tls),
            mode,
        })
    }

    /// The mode that applies: given, or the safe one for the files that are.
    pub(super) fn mode(&self) -> TlsMode {
        let default = match self.tls {
            // A named authority is meant to be used.
            Some(_) => TlsMode::VerifyIdentity,
            None => TlsMode::Preferred,
        };
        self.mode.unwrap_or(default)
    }

    /// Refuses what would be ignored.
    pub(super) fn check(&self, address: &Address) -> Result<()> {
        let invalid = |why: &'static str| Err(Error::new(ErrorKind::InvalidConfig, why));
        let mode = self.mode();
        let is_given = self.tls.is_some() || self.mode.is_some();
        if is_given && matches!(address, Address::Socket(_)) {
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
}
