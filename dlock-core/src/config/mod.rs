//! The URL is the configuration.
//!
//! A [`Config`] is found by [`Discovery`], or made of a URL or a file; a [`Registry`] reads it,
//! strictly, and opens the store. All errors before the opening are `InvalidConfig`, one line, and
//! never hold a password.

use std::{fmt, path::Path};

use crate::error::{Error, Result};

mod common;
mod discover;
mod file;
mod host;
mod mask;
mod parse;
mod pem;
mod readers;
mod registry;
mod secret;
mod settings;
mod suggest;
mod tls;
mod url;

pub use common::CommonSettings;
pub use discover::{DEFAULT_URL, Discovery, FILE_NAME, FILE_VARIABLE, Source, URL_VARIABLE};
pub use host::Host;
pub use registry::{ConnectFuture, Registry};
pub use secret::Secret;
pub use settings::Settings;
pub use tls::TlsFiles;
pub use url::BackendUrl;

/// Which store to use and how: a URL, and where it came from.
///
/// `Display` writes the URL, its password masked.
///
/// ```
/// use dlock_core::config::Config;
///
/// let config = Config::from_toml("url = \"redis://:hunter2@db-1\"\nttl = \"10s\"\n")?;
/// assert_eq!(config.to_string(), "redis://:***@db-1?ttl=10s");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    url: BackendUrl,
    source: Source,
}

impl Config {
    fn new(url: BackendUrl, source: Source) -> Self {
        Self { url, source }
    }

    /// The configuration that `url` is.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when it is no URL.
    pub fn from_url(url: &str) -> Result<Self> {
        Ok(Self::new(BackendUrl::parse(url)?, Source::Argument))
    }

    /// The configuration in the text of a TOML file: `url = "…"`, and beside it any key that the
    /// URL may have, as a string, an integer or a boolean. A key is either in the URL or in the
    /// file.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` with line and column when it is no TOML, and for a missing or wrong URL, a
    /// key that is given twice or a value of another type.
    pub fn from_toml(text: &str) -> Result<Self> {
        file::parse(text, Source::Argument)
    }

    /// The configuration in the TOML file at `path`, as [`Config::from_toml`]. Blocks while it
    /// reads.
    ///
    /// # Errors
    ///
    /// As [`Config::from_toml`], or when the file is missing, unreadable or longer than 64 KiB.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        file::read(path)?
            .ok_or_else(|| Source::File(path.to_owned()).invalid("there is no such file"))
    }

    /// Finds the configuration of this process, as [`Discovery`] says: `DLOCK_URL`, the file that
    /// `DLOCK_CONFIG` names, `dlock.toml` in the current directory, else `file:`.
    ///
    /// # Errors
    ///
    /// As [`Discovery::find`].
    pub fn discover() -> Result<Self> {
        Discovery::new().find()
    }

    /// The URL, with the keys of the file if it came from one.
    #[must_use]
    pub fn url(&self) -> &BackendUrl {
        &self.url
    }

    /// Where it came from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, f)
    }
}

impl TryFrom<&str> for Config {
    type Error = Error;

    fn try_from(url: &str) -> Result<Self> {
        Self::from_url(url)
    }
}

impl TryFrom<String> for Config {
    type Error = Error;

    fn try_from(url: String) -> Result<Self> {
        Self::from_url(&url)
    }
}

impl TryFrom<&String> for Config {
    type Error = Error;

    fn try_from(url: &String) -> Result<Self> {
        Self::from_url(url)
    }
}
