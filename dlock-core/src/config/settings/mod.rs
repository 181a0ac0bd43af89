//! The settings of a backend, read from its URL.

mod common;
mod nodes;
mod readers;
mod store;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

pub use self::common::CommonSettings;
use super::{configuration::Config, secret::Secret, source::Source, suggest::suggest, url::Host};
use crate::base::error::{Error, Result};

/// The settings of one backend: the parts of the URL and its keys, to be taken one by one.
///
/// Parts and keys that are not taken are errors in the end (K11). So a mistyped `ttl` never means the
/// default, and a host that a store has no use for is not silently ignored. A taken key is a known one.
///
/// Each `take_` method fails with `InvalidConfig` if the value is malformed or out of range. Its message has
/// the value and what is allowed.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::{Result, config::{Secret, Settings}};
///
/// /// The configuration of a backend with one server: `scheme://:password@host:port?timeout=2s`.
/// struct TableConfig {
///     host: String,
///     password: Option<Secret>,
///     timeout: Duration,
/// }
///
/// fn read(settings: &mut Settings) -> Result<TableConfig> {
///     let bounds = Duration::from_millis(10)..=Duration::from_secs(60);
///     let timeout = settings.take_duration("timeout", bounds)?;
///     let [host] = &settings.take_hosts()[..] else {
///         return Err(settings.invalid("give one host, as in table://host"));
///     };
///     Ok(TableConfig {
///         host: host.to_string(),
///         password: settings.take_password(),
///         timeout: timeout.unwrap_or(Duration::from_secs(2)),
///     })
/// }
/// ```
pub struct Settings {
    source: Source,
    scheme: String,
    user: Option<String>,
    password: Option<Secret>,
    hosts: Vec<Host>,
    path: String,
    params: BTreeMap<String, String>,
    known: Vec<&'static str>,
    common: CommonSettings,
}

impl Settings {
    /// Reads the common keys and keeps the rest: for a program that reads a store's settings beside its backend. A
    /// backend is given its settings by [`Registry::register`](super::Registry::register).
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if a common key is malformed or out of range.
    pub fn of(config: &Config) -> Result<Self> {
        let (source, url) = (config.source().clone(), config.url().clone());
        let mut settings = Self {
            source,
            scheme: url.scheme,
            user: url.user,
            password: url.password,
            hosts: url.hosts,
            path: url.path,
            params: url.params,
            known: config.keys_beside().to_vec(),
            common: CommonSettings::default(),
        };
        settings.common = settings.take_common()?;
        Ok(settings)
    }

    /// The settings that are the same for all backends.
    #[must_use]
    pub fn common(&self) -> &CommonSettings {
        &self.common
    }

    /// Takes over `ttl` and `wait` of another store where this one has none: for a store that is made of others.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let inner = Settings::of(&Config::from_url("etcd://etcd-1?ttl=10s")?)?;
    /// let mut outer = Settings::of(&Config::from_url("migrate:?wait=1m")?)?;
    /// outer.inherit(inner.common());
    /// assert_eq!(outer.common().ttl, inner.common().ttl);
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    pub fn inherit(&mut self, other: &CommonSettings) {
        self.common.ttl = self.common.ttl.or(other.ttl);
        self.common.wait = self.common.wait.or(other.wait);
    }

    /// The scheme of the URL, in lower case: for a backend that has several.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Makes the error for settings that are wrong because of `why`, with their source.
    #[must_use]
    pub fn invalid(&self, why: impl fmt::Display) -> Error {
        self.source.invalid(why)
    }

    /// Takes the user who logs in.
    pub fn take_user(&mut self) -> Option<String> {
        self.user.take()
    }

    /// Takes the password of the URL; never empty.
    pub fn take_password(&mut self) -> Option<Secret> {
        self.password.take()
    }

    /// Takes the servers, in the order given; may be none.
    pub fn take_hosts(&mut self) -> Vec<Host> {
        std::mem::take(&mut self.hosts)
    }

    /// Takes the path, decoded, with its leading slash if it has one; `None` if it is empty.
    pub fn take_path(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.path)).filter(|path| !path.is_empty())
    }

    /// Takes the value of `key`, which is a known key from now on.
    pub(super) fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        self.params.remove(key)
    }

    /// Refuses parts and keys that were not taken.
    pub(super) fn finish(self) -> Result<()> {
        let parts = [
            ("user", self.user.is_some()),
            ("password", self.password.is_some()),
            ("host", !self.hosts.is_empty()),
            ("path", !self.path.is_empty()),
        ];
        if let Some((part, _)) = parts.into_iter().find(|(_, left)| *left) {
            return Err(self.invalid(format!(
                "the URL has a {part}, which this store has no use for"
            )));
        }
        let Some(key) = self.params.keys().next() else {
            return Ok(());
        };
        let known: BTreeSet<&str> = self.known.iter().copied().collect();
        let known = Vec::from_iter(known);
        let hint = suggest(key, &known);
        let known = known.join(", ");
        Err(self.invalid(format!("unknown key {key:?}{hint}; known keys: {known}")))
    }
}

impl fmt::Debug for Settings {
    /// Leaves out the values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.params.keys().collect();
        f.debug_struct("Settings")
            .field("left", &keys)
            .field("known", &self.known)
            .finish()
    }
}
