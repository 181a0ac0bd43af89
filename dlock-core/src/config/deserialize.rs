//! `Config` as a part of another program's configuration, by serde.

use std::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use toml::{Table, Value};

use super::{
    configuration::Config, secret::is_secret_key, source::Source, table::from_table, url::check_key,
};

/// Reads a URL, or a table as in `dlock.toml`: `url` and keys of the URL, which may be tables of stores themselves. The
/// cargo feature `serde`.
///
/// ```
/// # use serde::Deserialize;
/// use dlock_core::Config;
///
/// #[derive(Deserialize)]
/// struct App {
///     locks: Config,
/// }
///
/// let app: App = toml::from_str("locks = 'redis://db-1?ttl=10s'")?;
/// assert_eq!(app.locks.to_string(), "redis://db-1?ttl=10s");
///
/// let app: App = toml::from_str("[locks]\nurl = 'redis://db-1'\nttl = '10s'")?;
/// assert_eq!(app.locks.to_string(), "redis://db-1?ttl=10s");
///
/// let app: App = serde_json::from_str(r#"{"locks": {"url": "redis://db-1", "token_base": 7}}"#)?;
/// assert_eq!(app.locks.to_string(), "redis://db-1?token_base=7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The messages are those of [`Config::from_toml`], and have no password. A format may also quote its input,
/// as `Display` of `toml::de::Error` does; its `message()` does not.
///
/// There is no `Serialize`: it would either lose the password or give it away.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UrlOrTable)
    }
}

struct UrlOrTable;

impl<'de> Visitor<'de> for UrlOrTable {
    type Value = Config;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL, or a table with the key \"url\"")
    }

    fn visit_str<E: Error>(self, url: &str) -> Result<Config, E> {
        Config::from_url(url).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Config, A::Error> {
        let mut table = Table::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value::<Option<Value>>().map_err(|error| {
                // The format's error may quote the value, or a number in a table that is one.
                if is_secret_key(&key) || error.to_string().contains("integer `") {
                    A::Error::custom(format!("{key} cannot be read, write it in quotes"))
                } else {
                    error
                }
            });
            let Some(value) = value? else {
                check_key(&key).map_err(A::Error::custom)?;
                return Err(A::Error::custom(format!("{key} is null, leave it out")));
            };
            // TOML refuses that itself, JSON would use the last one.
            if table.contains_key(&key) {
                return Err(A::Error::custom(format!("{key} is given twice")));
            }
            table.insert(key, value);
        }
        from_table(table, Source::Argument).map_err(A::Error::custom)
    }
}
