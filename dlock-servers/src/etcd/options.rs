//! How a member is set up.

use std::{ffi::OsString, fmt};

use crate::Certificates;

/// How a member is set up; by default it lets everybody in without TLS.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Options {
    /// Who is let in.
    pub login: Login,
    /// Whether its clients' connections are encrypted.
    pub tls: Tls,
    /// More arguments, such as `--auth-token-ttl=2`.
    pub arguments: Vec<String>,
}

/// Who is let in.
#[derive(Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Login {
    /// Everybody.
    #[default]
    Open,
    /// The user `root`, with all permissions and this password; tests add others.
    Root(String),
}

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Tls {
    /// They are not.
    #[default]
    Off,
    /// They are; clients need no certificate.
    On,
    /// They are, and clients need a certificate.
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
