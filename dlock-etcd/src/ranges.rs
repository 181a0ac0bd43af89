//! What is read of queues.

use dlock_core::Result;
use etcd_client::{
    GetOptions, GetResponse, KeyValue, SortOrder, SortTarget, TxnOpResponse, TxnResponse,
};

use crate::errors;

/// Reads who is first in a queue.
pub(crate) fn first_of_queue() -> GetOptions {
    GetOptions::new()
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Ascend)
        .with_limit(1)
}

/// Reads the last places of a queue.
pub(crate) fn last_of(options: GetOptions, limit: i64) -> GetOptions {
    options
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Descend)
        .with_limit(limit)
}

pub(crate) fn keys_only() -> GetOptions {
    GetOptions::new().with_keys_only()
}

/// What a transaction has read.
pub(crate) fn ranges(ops: Vec<TxnOpResponse>) -> impl Iterator<Item = GetResponse> {
    ops.into_iter().filter_map(|op| match op {
        TxnOpResponse::Get(range) => Some(range),
        _ => None,
    })
}

/// The first of what was read.
pub(crate) fn first(mut range: GetResponse) -> Option<KeyValue> {
    let mut places = range.take_kvs();
    (!places.is_empty()).then(|| places.swap_remove(0))
}

/// The revision that the store had then.
pub(crate) fn revision(answer: &TxnResponse) -> Result<i64> {
    let header = answer
        .header()
        .ok_or_else(|| errors::nonsense("no header"))?;
    Ok(header.revision())
}
