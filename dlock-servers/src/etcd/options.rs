//! How a member is set up.

use std::{ffi::OsString, fmt};

use crate::Certificates;

/// How a member is set up; by default it needs no login and no TLS.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Options {
    /// The users that may log in.
    pub login: Login,
    /// Whether its clients' connections are encrypted.
    pub tls: Tls,
    /// Further arguments, such as `--auth-token-ttl=2`.
    pub arguments: Vec<String>,
}

/// The users that may log in.
#[derive(Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Login {
    /// Clients need no login.
    #[default]
    Open,
    /// The user `root`, with all permissions and this password; tests add others.
    Root(String),
}

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Tls {
    /// Connections are not encrypted.
    #[default]
    Off,
    /// Connections are encrypted; clients need no certificate.
    On,
    /// Connections are encrypted, and clients need a certificate.
    Mutual,
}

impl Tls {
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Off => "http",
            Self::On | Self::Mutual => "https",
        }
    }

    pub(super) fn arguments(self, certificates: Option<&Certificates>) -> Vec<OsString> {
        let Some(certificates) = certificates else {
            return Vec::new();
        };
        let mut arguments = vec![
            "--cert-file".into(),
            certificates.server().into(),
            "--key-file".into(),
            certificates.server_key().into(),
        ];
        if self == Self::Mutual {
            arguments.extend([
                "--client-cert-auth".into(),
                "--trusted-ca-file".into(),
                certificates.ca().into(),
            ]);
        }
        arguments
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Root(_) => "Root(***)",
        })
    }
}
