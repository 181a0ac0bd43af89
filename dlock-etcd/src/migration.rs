//! The record of a migration: one key.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use dlock_core::{Result, backend::MigrationRecord};
use etcd_client::{Compare, CompareOp, Txn, TxnOp};

use crate::{conn::members::Members, errors, keys, ranges::first_key};

/// The record of a migration, by its key.
pub(crate) struct MigrationKey {
    members: Arc<Members>,
    key: String,
}

impl MigrationKey {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self {
            key: keys::migration_record(members.config.key_prefix()),
            members,
        }
    }
}

#[async_trait]
impl MigrationRecord for MigrationKey {
    async fn read(&self) -> Result<Option<String>> {
        let key = &*self.key;
        // Without options a read is linearizable.
        let range = self
            .members
            .request(|client| async move { client.kv_client().get(key, None).await });
        let found = first_key(range.await?);
        // A text of other bytes is no record, and never the expected one.
        Ok(found.map(|found| String::from_utf8_lossy(found.value()).into_owned()))
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        let key = &*self.key;
        let is_expected = match expected {
            Some(expected) => Compare::value(key, CompareOp::Equal, expected),
            None => Compare::create_revision(key, CompareOp::Equal, 0),
        };
        let txn = Txn::new()
            .when([is_expected])
            .and_then([TxnOp::put(key, next, None)]);
        let effect_unknown = AtomicBool::new(false);
        let set = self.members.request_noting(&effect_unknown, |client| {
            let txn = txn.clone();
            async move { client.kv_client().txn(txn).await }
        });
        let is_set = set.await?.succeeded();
        // A try without a reply may have been the one that wrote it, or it may be executed later.
        if !is_set && effect_unknown.load(Ordering::Acquire) {
            return Err(errors::may_be_written());
        }
        Ok(is_set)
    }
}
