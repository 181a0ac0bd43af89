//! The record of a migration: one key, also in a Cluster.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{Error, ErrorKind, Result, backend::MigrationRecord};
use redis::{FromRedisValue, Value};

use crate::{
    conn::{replication::wait_for_replicas, request::Reply},
    errors, keys,
    scripts::{Call, MigrationCall, MigrationChange},
    topology::router::Router,
};

/// The record of a migration, by its key.
pub(crate) struct MigrationKey {
    router: Arc<Router>,
    key: String,
}

impl MigrationKey {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        Self {
            key: keys::migration(router.options.prefix()),
            router,
        }
    }

    async fn send(&self, change: Option<MigrationChange<'_>>) -> Result<Reply> {
        let Self { router, key } = self;
        let call = MigrationCall { key, change };
        let sent = router.send(Call::Migration(call), None).await;
        sent.map_err(|error| match error.kind() {
            // The neighbours' error names a lock.
            ErrorKind::Unsupported => {
                let why = format!(
                    "the key {key}, which is for the record of a migration, holds something else; delete it, or \
                     choose another prefix="
                );
                Error::new(ErrorKind::Unsupported, why)
            }
            _ => error,
        })
    }
}

#[async_trait]
impl MigrationRecord for MigrationKey {
    async fn read(&self) -> Result<Option<String>> {
        let found: Option<Vec<u8>> = parse(self.send(None).await?.value)?;
        // A text of other bytes is no record, and never the expected one.
        Ok(found.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        let reply = self.send(Some(MigrationChange { expected, next })).await?;
        let is_set = parse(reply.value.clone())?;
        if is_set {
            wait_for_replicas(&reply, &self.router.options).await?;
        }
        Ok(is_set)
    }
}

fn parse<T: FromRedisValue>(value: Value) -> Result<T> {
    redis::from_redis_value(value).map_err(errors::unexpected_reply)
}
