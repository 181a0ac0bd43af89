//! The sources of a configuration.

use std::{fmt, path::PathBuf};

use crate::base::error::{Error, ErrorKind};

/// The environment variable with the URL.
pub const URL_VARIABLE: &str = "DLOCK_URL";
/// The environment variable with the path of the configuration file.
pub const FILE_VARIABLE: &str = "DLOCK_CONFIG";
/// The name of the configuration file in the current directory.
pub const FILE_NAME: &str = "dlock.toml";
/// The configuration file of the machine, the last one that is searched for.
pub const SYSTEM_FILE: &str = "/etc/dlock.toml";
/// The environment variable by which no configuration is an error. Any value but an empty one and `0` sets it.
pub const REQUIRE_VARIABLE: &str = "DLOCK_REQUIRE_URL";
/// The URL that is used if none is configured: locks between the processes of one user on one machine.
pub const DEFAULT_URL: &str = "file:";

/// The source of a [`Config`](super::Config).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A URL that the program or its user gave.
    Argument,
    /// The environment variable [`DLOCK_URL`](URL_VARIABLE).
    Environment,
    /// The configuration file with this path.
    File(PathBuf),
    /// No source is set: [`DEFAULT_URL`].
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument => f.write_str("the argument"),
            Self::Environment => f.write_str(URL_VARIABLE),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}

impl Source {
    /// Makes an `InvalidConfig` error that says where the wrong setting is.
    pub(super) fn invalid(&self, why: impl fmt::Display) -> Error {
        let message = match self {
            Self::Argument | Self::Default => why.to_string(),
            Self::Environment | Self::File(_) => format!("{self}: {why}"),
        };
        Error::new(ErrorKind::InvalidConfig, message)
    }
}
