//! The context that all keys of one backend share.

use std::sync::Arc;

use crate::{
    conn::members::Members,
    queue::{batch::TxnBatcher, key_pool::KeyPool},
};

/// The connection, the requests and the key endings of one backend's queues.
pub(crate) struct QueueContext {
    pub(crate) members: Arc<Members>,
    pub(crate) batcher: TxnBatcher,
    pub(crate) key_pool: KeyPool,
}

impl QueueContext {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self {
            batcher: TxnBatcher::new(members.clone()),
            key_pool: KeyPool::default(),
            members,
        }
    }
}
