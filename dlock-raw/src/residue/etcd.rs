//! etcd: a lock is the keys of its queue.

use dlock_core::{
    LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use etcd_client::{Client, GetOptions};
use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::left::{Kind, Left, Store};
use crate::driver::etcd::{Members, failed};

/// dlock-etcd's own default, and what it escapes.
const PREFIX: &str = "dlock/";
const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'/').add(b'%');

/// The most keys of one queue that are listed.
const KEYS_MAX: i64 = 10_000;

/// A connection to the first member that answers.
pub(super) struct Etcd {
    client: Client,
    prefix: String,
}

impl Etcd {
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?.unwrap_or_else(|| PREFIX.to_owned());
        let client = Members::take(&mut settings)?.connect_to_any().await?;
        Ok(Self { client, prefix })
    }
}

#[async_trait]
impl Store for Etcd {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let path = format!(
            "{}{}",
            self.prefix,
            utf8_percent_encode(name.as_str(), ESCAPED)
        );
        let mut left = Vec::new();
        // The queue, and the tombstones of attempts that were undone.
        for directory in [format!("{path}/"), format!("{path}%/")] {
            let options = GetOptions::new()
                .with_prefix()
                .with_keys_only()
                .with_limit(KEYS_MAX);
            let reply = self.client.kv_client().get(directory, Some(options)).await;
            for key in reply.map_err(failed)?.kvs() {
                let key = String::from_utf8_lossy(key.key());
                left.push(Left::new(name, key, Kind::Lock));
            }
        }
        Ok(left)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        let deleted = self.client.kv_client().delete(&*left.place, None).await;
        Ok(deleted.map_err(failed)?.deleted() > 0)
    }
}
