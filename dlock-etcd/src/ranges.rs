//! Range requests of queues, and their replies.

use dlock_core::Result;
use etcd_client::{
    GetOptions, GetResponse, KeyValue, SortOrder, SortTarget, TxnOpResponse, TxnResponse,
};

use crate::{errors, keys::Format};

/// Reads the first key of a queue, or the only one: the lock's holder.
pub(crate) fn holder_of(format: Format) -> GetOptions {
    if !format.has_queue() {
        return GetOptions::new();
    }
    GetOptions::new()
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Ascend)
        .with_limit(1)
}

/// Reads the last `limit` keys of a queue.
pub(crate) fn last_of_queue(options: GetOptions, limit: i64) -> GetOptions {
    options
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Descend)
        .with_limit(limit)
}

/// Reads keys without their values.
pub(crate) fn keys_only() -> GetOptions {
    GetOptions::new().with_keys_only()
}

/// Reads an attempt's own key. Its value is of interest only where other clients write the same key.
pub(crate) fn one_key(format: Format) -> GetOptions {
    match format.has_queue() {
        true => keys_only(),
        false => GetOptions::new(),
    }
}

/// The replies to the reads of a transaction.
pub(crate) fn ranges(ops: Vec<TxnOpResponse>) -> impl Iterator<Item = GetResponse> {
    ops.into_iter().filter_map(|op| match op {
        TxnOpResponse::Get(range) => Some(range),
        _ => None,
    })
}

/// The first key of a range.
pub(crate) fn first_key(mut range: GetResponse) -> Option<KeyValue> {
    let mut keys = range.take_kvs();
    (!keys.is_empty()).then(|| keys.swap_remove(0))
}

/// The store's revision after a transaction.
pub(crate) fn revision(reply: &TxnResponse) -> Result<i64> {
    let header = reply
        .header()
        .ok_or_else(|| errors::unexpected_reply("no header"))?;
    Ok(header.revision())
}
