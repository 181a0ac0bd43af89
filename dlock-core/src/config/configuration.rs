//! The configuration that was found.

use std::fmt;

use super::{source::Source, url::BackendUrl};
use crate::base::error::{Error, Result};

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
    pub(super) fn new(url: BackendUrl, source: Source) -> Self {
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
