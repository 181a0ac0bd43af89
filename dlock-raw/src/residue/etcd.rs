//! etcd: a lock is the keys of its queue, or one key.

use dlock_core::{
    LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use etcd_client::{Client, GetOptions};
use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::left::{InUse, Kind, Left, Store, unescaped, without_prefix};
use crate::driver::etcd::{Members, failed};

/// The characters that dlock-etcd escapes.
const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'/').add(b'%');

/// The begin of dlock's own keys, after the prefix.
const OWN: &str = "%dlock-";

/// The most keys of one queue that are listed.
const KEYS_MAX: i64 = 10_000;

/// A connection to the first member that answers.
pub(super) struct Etcd {
    client: Client,
    prefix: String,
    format: Format,
}

#[derive(Clone, Copy)]
enum Format {
    Concurrency,
    PythonEtcd3,
}

impl Format {
    /// dlock-etcd's own default.
    fn default_prefix(self) -> &'static str {
        match self {
            Self::Concurrency => "dlock/",
            Self::PythonEtcd3 => "/locks/",
        }
    }
}

impl Etcd {
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let formats = [
            ("concurrency", Format::Concurrency),
            ("python-etcd3", Format::PythonEtcd3),
        ];
        let format = settings
            .take_choice("format", formats)?
            .unwrap_or(Format::Concurrency);
        let prefix = settings.take_prefix()?;
        let prefix = prefix.unwrap_or_else(|| format.default_prefix().to_owned());
        let client = Members::take(&mut settings)?.connect_to_any().await?;
        Ok(Self {
            client,
            prefix,
            format,
        })
    }

    /// At most [`KEYS_MAX`] keys that begin with `prefix`.
    async fn keys(&self, prefix: String) -> Result<Vec<String>> {
        let options = GetOptions::new()
            .with_prefix()
            .with_keys_only()
            .with_limit(KEYS_MAX);
        let reply = self.client.kv_client().get(prefix, Some(options)).await;
        let reply = reply.map_err(failed)?;
        let keys = reply.kvs().iter();
        Ok(keys
            .map(|key| String::from_utf8_lossy(key.key()).into_owned())
            .collect())
    }

    /// The lock of a key.
    fn in_use_at(&self, key: String) -> InUse {
        let rest = key.strip_prefix(&self.prefix).unwrap_or_default();
        let name = match (self.format, rest.rsplit_once('/')) {
            (Format::Concurrency, Some((name, _))) => unescaped(name),
            _ => rest.to_owned(),
        };
        InUse::new(key, name)
    }

    /// The keys of a queue, and the tombstones of attempts that were undone.
    async fn of_queue(&self, name: &LockName) -> Result<Vec<String>> {
        let name = utf8_percent_encode(name.as_str(), ESCAPED);
        let path = format!("{}{name}", self.prefix);
        let mut keys = self.keys(format!("{path}/")).await?;
        keys.extend(self.keys(format!("{path}%/")).await?);
        Ok(keys)
    }

    /// The only key of a lock, and the tombstones of attempts that were undone.
    async fn of_one_key(&self, name: &LockName) -> Result<Vec<String>> {
        let key = format!("{}{name}", self.prefix);
        let mut keys = self.keys(key.clone()).await?;
        keys.retain(|other| *other == key);
        let undone = format!("{}%dlock-undone/", self.prefix);
        let mut tombstones = self.keys(undone.clone()).await?;
        tombstones.retain(|tombstone| {
            let attempt = tombstone.strip_prefix(&undone).unwrap_or_default();
            attempt
                .split_once('/')
                .is_some_and(|(_, of)| of == name.as_str())
        });
        keys.extend(tombstones);
        Ok(keys)
    }
}

#[async_trait]
impl Store for Etcd {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let keys = match self.format {
            Format::Concurrency => self.of_queue(name).await?,
            Format::PythonEtcd3 => self.of_one_key(name).await?,
        };
        let left = keys.iter().map(|key| Left::new(name, key, Kind::Lock));
        Ok(left.collect())
    }

    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        if self.prefix.is_empty() {
            return Err(without_prefix());
        }
        let mut keys = self.keys(self.prefix.clone()).await?;
        keys.retain(|key| {
            let rest = key.strip_prefix(&self.prefix).unwrap_or_default();
            let is_lock = match self.format {
                // Escaped names have no percent sign before a slash, but the tombstones of attempts do.
                Format::Concurrency => rest.contains('/') && !rest.contains("%/"),
                Format::PythonEtcd3 => !rest.is_empty(),
            };
            is_lock && !rest.starts_with(OWN)
        });
        keys.truncate(max);
        Ok(keys.into_iter().map(|key| self.in_use_at(key)).collect())
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        let deleted = self.client.kv_client().delete(&*left.place, None).await;
        Ok(deleted.map_err(failed)?.deleted() > 0)
    }
}
