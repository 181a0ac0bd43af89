//! Checks that the keys of held locks exist: many keys in one transaction.
//!
//! A lease that is alive does not prove that its keys exist.

use std::sync::Arc;

use dlock_core::{
    Result,
    toolkit::{BatchReply, Batcher},
};
use etcd_client::{Txn, TxnOp};

use crate::{
    conn::members::Members,
    errors,
    ranges::{first_key, keys_only, ranges},
};

/// The most reads in one transaction: servers allow 128 by default.
const SIZE_MAX: usize = 100;

/// Batches the checks of one backend.
pub(crate) struct KeyVerifier(Batcher<String, i64>);

impl KeyVerifier {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self(Batcher::windowed(SIZE_MAX, move |keys| {
            Box::pin(verify(members.clone(), keys))
        }))
    }

    /// The revision in which a key was created; 0 if the key does not exist.
    pub(crate) async fn create_revision(&self, key: &str) -> Result<i64> {
        let (_, created) = self.0.join(key.to_owned()).await?;
        Ok(created)
    }
}

async fn verify(members: Arc<Members>, keys: Vec<String>) -> BatchReply<i64> {
    let ops = keys.iter().map(|key| TxnOp::get(&**key, Some(keys_only())));
    let txn = Txn::new().and_then(ops.collect::<Vec<_>>());
    let sent = members.sent_now();
    let reply = members.request(|client| {
        let txn = txn.clone();
        async move { client.kv_client().txn(txn).await }
    });
    let reply = reply.await?;
    let created = ranges(reply.op_responses())
        .map(|range| first_key(range).map_or(0, |key| key.create_revision()));
    let created: Vec<_> = created.collect();
    if created.len() != keys.len() {
        return Err(errors::unexpected_reply("another number of ranges"));
    }
    Ok((sent, created))
}
