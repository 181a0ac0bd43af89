//! How a server is set up.

use std::{fmt, path::Path};

use crate::Certificates;

/// How a server is set up; by default it keeps nothing, and needs no login and no TLS.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Options {
    /// The data that outlives a restart.
    pub persistence: Persistence,
    /// The users that may log in.
    pub login: Login,
    /// Whether connections are encrypted.
    pub tls: Tls,
    /// Further lines for the configuration file, such as `maxmemory 10mb`.
    pub lines: Vec<String>,
}

/// The data that outlives a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Persistence {
    /// A restart loses all data.
    #[default]
    None,
    /// The data of the last snapshot: one is taken on SIGTERM and after each second with a change.
    Rdb,
    /// A restart loses about the last second.
    AofEverySecond,
    /// Everything that was answered.
    AofAlways,
}

/// The users that may log in.
#[derive(Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Login {
    /// Clients need no login.
    #[default]
    Open,
    /// Clients with this password.
    Password(String),
    /// Clients log in as this user, with this password.
    User(String, String),
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

impl Options {
    /// The lines that every kind of server has.
    pub(super) fn network(&self, port: u16, certificates: Option<&Certificates>) -> Vec<String> {
        let mut lines = vec![
            "bind 127.0.0.1".to_owned(),
            "protected-mode no".to_owned(),
            "daemonize no".to_owned(),
        ];
        let Some(certificates) = certificates else {
            lines.push(format!("port {port}"));
            return lines;
        };
        let demand = if self.tls == Tls::Mutual { "yes" } else { "no" };
        lines.extend([
            "port 0".to_owned(),
            format!("tls-port {port}"),
            format!("tls-auth-clients {demand}"),
            "tls-replication yes".to_owned(),
        ]);
        // The last two are what it shows to other servers.
        for (key, path) in [
            ("tls-ca-cert-file", certificates.ca()),
            ("tls-cert-file", certificates.server()),
            ("tls-key-file", certificates.server_key()),
            ("tls-client-cert-file", certificates.client()),
            ("tls-client-key-file", certificates.client_key()),
        ] {
            lines.push(format!("{key} {}", quoted_path(&path)));
        }
        lines
    }

    /// The lines for a Sentinel: it lets in the same clients, and knows the other Sentinels' login.
    pub(super) fn sentinel(&self) -> Vec<String> {
        let login = &self.login;
        let others = login.use_at("sentinel sentinel-user", "sentinel sentinel-pass");
        [login.admission(), others].concat()
    }

    /// The lines for a server that keeps data.
    pub(super) fn data(&self) -> Vec<String> {
        let (save, aof) = match self.persistence {
            Persistence::None => (r#"save """#, "no"),
            Persistence::Rdb => ("save 1 1", "no"),
            Persistence::AofEverySecond | Persistence::AofAlways => (r#"save """#, "yes"),
        };
        let mut lines = vec![save.to_owned(), format!("appendonly {aof}")];
        if self.persistence == Persistence::AofAlways {
            lines.push("appendfsync always".to_owned());
        }
        lines.push("enable-debug-command local".to_owned());
        lines.extend(self.login.admission());
        lines.extend(self.login.use_at("masteruser", "masterauth"));
        lines.extend(self.lines.iter().cloned());
        lines
    }
}

impl Login {
    /// The lines that let clients in.
    fn admission(&self) -> Vec<String> {
        match self {
            Self::Open => Vec::new(),
            Self::Password(password) => vec![format!("requirepass {}", quoted(password))],
            Self::User(name, password) => {
                let (name, password) = (quoted(name), quoted(&format!(">{password}")));
                vec![
                    format!("user {name} on {password} ~* &* +@all"),
                    "user default off".to_owned(),
                ]
            }
        }
    }

    /// The lines by which a server logs in elsewhere.
    pub(super) fn use_at(&self, user_is: &str, password_is: &str) -> Vec<String> {
        match self {
            Self::Open => Vec::new(),
            Self::Password(password) => vec![format!("{password_is} {}", quoted(password))],
            Self::User(name, password) => vec![
                format!("{user_is} {}", quoted(name)),
                format!("{password_is} {}", quoted(password)),
            ],
        }
    }

    /// The command that logs a connection in.
    pub(super) fn command(&self) -> Option<Vec<&str>> {
        match self {
            Self::Open => None,
            Self::Password(password) => Some(vec!["AUTH", password]),
            Self::User(name, password) => Some(vec!["AUTH", name, password]),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("Open"),
            Self::Password(_) => f.write_str("Password(***)"),
            Self::User(name, _) => write!(f, "User({name:?}, ***)"),
        }
    }
}

/// `word` as one word of a configuration file.
pub(super) fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', r"\\").replace('"', r#"\""#))
}

pub(super) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
