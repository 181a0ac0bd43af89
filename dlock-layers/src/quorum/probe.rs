//! The probe of a node that was silent.

use std::{sync::Arc, time::Duration};

use dlock_core::LockName;

use super::node::Slot;

/// Reads from a node that was silent, in the background: an answer within `timeout` ends its silence. Nothing is left in
/// the node, whether the caller goes on or not.
pub(super) fn probe(slot: &Arc<Slot>, name: &LockName, timeout: Duration) {
    let (slot, name) = (slot.clone(), name.clone());
    tokio::spawn(async move {
        if let Some(store) = slot.store()
            // An error may be one of its client: about a connection that it has given up, at once.
            && let Ok(Ok(_)) = tokio::time::timeout(timeout, store.inspect(&name)).await
        {
            slot.silence.end();
        }
    });
}
