//! Moving a key to another lease.

use std::sync::atomic::AtomicBool;

use dlock_core::Result;
use etcd_client::{Compare, CompareOp, Txn};

use crate::{
    errors,
    lease::etcd_lease::EtcdLease,
    queue::{batch::Op, key::QueueKey},
    ranges::{first_key, ranges},
};

/// How often a move is tried again when another move came first.
const TRIES_MAX: u32 = 4;

impl QueueKey {
    /// Attaches the key that was created in revision `created` to `lease`; false if the key is gone.
    ///
    /// The transaction compares the lease that the key comes from: a late request of an abandoned move must
    /// not move the key back.
    pub(crate) async fn move_to(&self, lease: &EtcdLease, created: i64) -> Result<bool> {
        let own = &*self.keys.own;
        let mut from = self.lease.id();
        for _ in 0..TRIES_MAX {
            let txn = Txn::new()
                .when(
                    [
                        Compare::create_revision(own, CompareOp::Equal, created),
                        Compare::lease(own, CompareOp::Equal, from),
                    ]
                    .into_iter()
                    .chain(self.when_own_value())
                    .collect::<Vec<_>>(),
                )
                .and_then([self.put(lease)])
                .or_else([self.read_own()]);
            let queue = self.keys.queue.clone();
            // Not needed: this transaction never creates a key.
            let effect_unknown = AtomicBool::default();
            let moved = Op::Change {
                queue,
                txn: Box::new(move || txn.clone()),
            };
            let Some(reply) = self.context.batcher.run(moved, &effect_unknown).await? else {
                lease.mark_ended();
                return Err(errors::lease_ended());
            };
            if reply.succeeded {
                return Ok(true);
            }
            match ranges(reply.ops).next().and_then(first_key) {
                Some(key) if key.create_revision() == created && self.has_own_value(&key) => {
                    from = key.lease();
                }
                _ => return Ok(false),
            }
            if from == lease.id() {
                return Ok(true);
            }
        }
        Err(errors::lease_ended())
    }
}
