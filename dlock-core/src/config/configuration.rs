//! The configuration: a URL, and its source.

use std::{fmt, str::FromStr};

use super::{small_file, source::Source, url::BackendUrl};
use crate::base::error::{Error, Result};

/// The configuration of a store: a URL, and the source it came from.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    url: BackendUrl,
    source: Source,
    /// Keys of the same URL that another store has a use for.
    beside: Vec<&'static str>,
}

impl Config {
    pub(super) fn new(url: BackendUrl, source: Source) -> Self {
        Self {
            url,
            source,
            beside: Vec::new(),
        }
    }

    /// This configuration with the `keys` that the store around it has taken from the same URL.
    pub(super) fn beside(mut self, keys: Vec<&'static str>) -> Self {
        self.beside = keys;
        self
    }

    pub(super) fn keys_beside(&self) -> &[&'static str] {
        &self.beside
    }

    /// Makes the configuration of `url`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if `url` is malformed.
    pub fn from_url(url: &str) -> Result<Self> {
        Ok(Self::new(BackendUrl::parse(url)?, Source::Argument))
    }

    /// The URL, with the keys of the file if it came from one.
    #[must_use]
    pub fn url(&self) -> &BackendUrl {
        &self.url
    }

    /// This configuration with the value of `key` set to `value`, as [`BackendUrl::with_param`].
    ///
    /// ```
    /// use dlock_core::config::Config;
    ///
    /// let config = Config::from_url("redis://db-1?ttl=10s")?.with_param("ttl", "5s");
    /// assert_eq!(config.to_string(), "redis://db-1?ttl=5s");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_param(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.url = self.url.with_param(key, value);
        self
    }

    /// The source of the configuration.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// A warning for the operator: every user of the machine can read the file that this came from, and it has a
    /// password. Reads the file's permissions.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        match &self.source {
            Source::File(path) if self.url.has_secret() && small_file::is_readable_by_all(path) => {
                let path = path.display();
                Some(format!(
                    "{path} has a password, and every user of this machine can read it; run chmod o= {path}, or \
                     use password_file="
                ))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, f)
    }
}

impl From<BackendUrl> for Config {
    fn from(url: BackendUrl) -> Self {
        Self::new(url, Source::Argument)
    }
}

impl FromStr for Config {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self> {
        Self::from_url(url)
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
