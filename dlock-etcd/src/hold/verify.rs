//! Checks that the keys of held locks exist: many keys in one transaction.
//!
//! A lease that is alive does not prove that its keys exist.

use std::sync::Arc;

use dlock_core::{
    Result,
    toolkit::{BatchReply, Batcher},
};
use etcd_client::{KeyValue, Txn, TxnOp};

use crate::{
    conn::members::Members,
    errors,
    ranges::{first_key, one_key, ranges},
};

/// The most reads in one transaction: servers allow 128 by default.
const SIZE_MAX: usize = 100;

/// Batches the checks of one backend.
pub(crate) struct KeyVerifier(Batcher<String, Option<KeyValue>>);

impl KeyVerifier {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self(Batcher::windowed(SIZE_MAX, move |keys| {
            Box::pin(verify(members.clone(), keys))
        }))
    }

    /// The key, with its value if other clients write it; `None` if it does not exist.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<KeyValue>> {
        let (_, found) = self.0.join(key.to_owned()).await?;
        Ok(found)
    }
}

async fn verify(members: Arc<Members>, keys: Vec<String>) -> BatchReply<Option<KeyValue>> {
    let options = one_key(members.config.format);
    let ops = keys
        .iter()
        .map(|key| TxnOp::get(&**key, Some(options.clone())));
    let txn = Txn::new().and_then(ops.collect::<Vec<_>>());
    let sent = members.sent_now();
    let reply = members.request(|client| {
        let txn = txn.clone();
        async move { client.kv_client().txn(txn).await }
    });
    let reply = reply.await?;
    let found: Vec<_> = ranges(reply.op_responses()).map(first_key).collect();
    if found.len() != keys.len() {
        return Err(errors::unexpected_reply("another number of ranges"));
    }
    Ok((sent, found))
}
