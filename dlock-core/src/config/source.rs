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
    /// The key of another store's URL: [`Settings::take_store`](super::Settings::take_store). Or the host of a URL with a
    /// store at each.
    Nested {
        /// The source of the other store.
        outer: Box<Self>,
        /// The key.
        key: String,
        /// The environment variable with the URL, if the key names one.
        variable: Option<String>,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument => f.write_str("the argument"),
            Self::Environment => f.write_str(URL_VARIABLE),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("the default"),
            Self::Nested {
                outer,
                key,
                variable,
            } => {
                write!(f, "{outer}: {key}")?;
                variable
                    .as_ref()
                    .map_or(Ok(()), |name| write!(f, ": {name}"))
            }
        }
    }
}

impl Source {
    /// Makes an `InvalidConfig` error that says where the wrong setting is.
    pub(super) fn invalid(&self, why: impl fmt::Display) -> Error {
        match self {
            Self::Argument | Self::Default => Error::new(ErrorKind::InvalidConfig, why.to_string()),
            Self::Environment | Self::File(_) => {
                Error::new(ErrorKind::InvalidConfig, format!("{self}: {why}"))
            }
            Self::Nested {
                outer,
                key,
                variable: Some(name),
            } => outer.invalid(format!("{key}: {name}: {why}")),
            Self::Nested { outer, key, .. } => outer.invalid(format!("{key}: {why}")),
        }
    }

    /// How many stores the configuration is nested in.
    pub(super) fn level(&self) -> usize {
        match self {
            Self::Nested { outer, .. } => outer.level() + 1,
            _ => 0,
        }
    }
}
