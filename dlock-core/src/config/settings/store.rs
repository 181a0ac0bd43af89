//! The configuration of a store in the value of another store's key.

use std::ffi::OsString;

use super::Settings;
use crate::{
    base::error::Result,
    config::{configuration::Config, source::Source, url::BackendUrl, variable::is_variable},
};

/// The beginning of a value that names the environment variable with the URL.
const VARIABLE: &str = "env:";

impl Settings {
    /// Takes the configuration of another store, for a store that is made of stores.
    ///
    /// The value is a URL, percent-encoded in the URL that it is a value of; in a file it is a text or a table. Or it is
    /// `env:NAME`: then the URL is the value of that environment variable, without a further encoding. So the outer URL
    /// has no password. The environment is that of this process.
    ///
    /// The [`Source`] of the result is [`Source::Nested`], so its errors begin with the key. The keys of the URL are
    /// read when the store is opened.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let config = Config::from_url("migrate:?from=redis://:hunter2%40db-1/0&to=db-2")?;
    /// let mut settings = Settings::of(&config)?;
    /// let from = settings.take_store("from")?.expect("the URL has it");
    /// assert_eq!(from.url().hosts()[0].name, "db-1");
    /// assert_eq!(from.to_string(), "redis://:***@db-1/0");
    ///
    /// let error = settings.take_store("to").unwrap_err();
    /// assert!(error.to_string().starts_with("to: URL \"db-2\": it has no scheme"));
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is not a URL or has more than [`BackendUrl::BYTES_MAX`] bytes. Also if this store
    /// is nested in [`BackendUrl::STORES_NESTED_MAX`] others already; and for a variable without a name, and one that is
    /// not set, empty or not UTF-8. The message has the URL, its passwords masked.
    pub fn take_store(&mut self, key: &'static str) -> Result<Option<Config>> {
        match self.take(key) {
            Some(value) => self.store_of(key, &value).map(Some),
            None => Ok(None),
        }
    }

    /// The configuration of the store that `value` of `key` names.
    pub(super) fn store_of(&self, key: &str, value: &str) -> Result<Config> {
        let source = |variable: Option<&str>| Source::Nested {
            outer: Box::new(self.source.clone()),
            key: key.to_owned(),
            variable: variable.map(str::to_owned),
        };
        let given = source(None);
        let (level, max) = (given.level(), BackendUrl::STORES_NESTED_MAX);
        if level > max {
            return Err(given.invalid(format!(
                "the store is nested in {level} others, allowed are at most {max}"
            )));
        }
        let (source, url) = match value.strip_prefix(VARIABLE) {
            None => (given, value.to_owned()),
            // Not quoted: it may be a password.
            Some(name) if !is_variable(name) => {
                return Err(given.invalid(
                    "after \"env:\" comes the name of an environment variable, of letters, digits and \"_\", \
                     as in env:OLD_STORE",
                ));
            }
            Some(name) => {
                let source = source(Some(name));
                let url = text_of(std::env::var_os(name)).map_err(|why| source.invalid(why))?;
                (source, url)
            }
        };
        let url = BackendUrl::parse(&url).map_err(|why| source.invalid(why))?;
        Ok(Config::new(url, source))
    }
}

/// The value of an environment variable that has a URL.
fn text_of(value: Option<OsString>) -> Result<String, &'static str> {
    match value.map(OsString::into_string) {
        None => Err("the environment variable is not set; give it the URL of a store"),
        Some(Err(_)) => Err("the environment variable is not UTF-8; give it the URL of a store"),
        Some(Ok(url)) if url.is_empty() => {
            Err("the environment variable is empty; give it the URL of a store")
        }
        Some(Ok(url)) => Ok(url),
    }
}
