//! Notice of deleted keys: one stream of watches for all of them.
//!
//! The store keeps its history, so a watch may begin late, and after a break begin again where it was. Nothing is
//! missed except what the store has compacted. So a held lock is watched only when it has been held for a while,
//! and a short hold costs nothing.
//!
//! But a server checks its history only every 100 ms. So a waiter's watch begins with the next event. The
//! waiter reads its position again if anything was written since its last read.

use std::sync::Arc;

use crate::{
    conn::members::Members,
    watch::registry::{Registry, Target},
};

mod ids;
pub(crate) mod pair;
pub(crate) mod registry;
mod stream;
mod table;

/// All watches of a backend.
#[derive(Clone)]
pub(crate) struct Watches(Arc<Registry>);

/// A watch; it ends when this is dropped.
pub(crate) struct Watched {
    id: i64,
    registry: Arc<Registry>,
}

impl Watches {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self(Arc::new(Registry::new(members)))
    }

    /// Notifies `target` when `key` is deleted in revision `from` or later.
    pub(crate) fn watch(&self, key: impl Into<Vec<u8>>, from: i64, target: Target) -> Watched {
        let added = self.0.add(key.into(), from, target);
        if added.needs_task {
            tokio::spawn(stream::run(self.0.clone()));
        }
        if added.is_due_first {
            self.0.changed.notify_one();
        }
        Watched {
            id: added.id,
            registry: self.0.clone(),
        }
    }
}

impl Watched {
    /// The waiter has seen its keys in this revision.
    pub(crate) fn keys_seen(&self, revision: i64) {
        self.registry.keys_seen(self.id, revision);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.registry.remove(self.id);
    }
}
