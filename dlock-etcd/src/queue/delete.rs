//! Deleting a key, so that no late request creates it again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::Result;
use etcd_client::{Client, PutOptions, Txn, TxnOp};

use crate::{
    errors,
    lease::{poll_watchdog::PollWatchdog, users::Waiter},
    queue::{batch::Op, key::QueueKey},
};

impl QueueKey {
    /// Deletes the key; succeeds also if it is gone. A request under way does not create it any more
    /// (K4, K9).
    ///
    /// Dropped before its end, it leaves the effect unknown.
    pub(crate) async fn remove(&self) -> Result<()> {
        if self.is_retired() {
            return Ok(());
        }
        let was_unknown = self.effect_unknown.swap(true, Ordering::AcqRel);
        let effect_unknown = AtomicBool::new(was_unknown);
        if self.owns_lease {
            // Nothing can be attached to a revoked lease.
            for lease in self.leases.all() {
                lease.revoke_noting(&effect_unknown).await?;
            }
        } else if self.leases.have_ended() {
            // Perhaps only by our clock: a new leader may keep the lease, and the key, for longer.
            effect_unknown.store(true, Ordering::Release);
        } else {
            self.delete(was_unknown, &effect_unknown).await?;
        }
        self.effect_unknown
            .store(effect_unknown.load(Ordering::Acquire), Ordering::Release);
        self.retire_key();
        Ok(())
    }

    /// Removes the key, with retries until its lease has ended, and releases the lease.
    pub(crate) async fn remove_and_unref(&self) {
        let has_ended = || self.leases.have_ended();
        let members = &self.context.members;
        members
            .retry_until_confirmed(has_ended, || self.remove())
            .await;
        self.retire_key();
        self.leases.release();
    }

    /// Deletes the attempt's own key, and not that of another client.
    fn deletion(&self) -> TxnOp {
        let delete = TxnOp::delete(&*self.keys.own, None);
        match self.when_own_value() {
            None => delete,
            Some(is_own) => TxnOp::txn(Txn::new().when([is_own]).and_then([delete])),
        }
    }

    async fn delete(&self, was_unknown: bool, effect_unknown: &AtomicBool) -> Result<()> {
        let own = &*self.keys.own;
        if !was_unknown {
            let delete = match self.when_own_value() {
                None => Op::Delete(own.to_owned()),
                Some(_) => {
                    let delete = Txn::new().and_then([self.deletion()]);
                    Op::Change {
                        queue: self.keys.queue.clone(),
                        txn: Box::new(move || delete.clone()),
                    }
                }
            };
            let deleted = self.context.batcher.run(delete, effect_unknown).await;
            return deleted.map(drop);
        }
        // The tombstone ends with the only lease that the key could be created on, which soon ends (K12).
        self.lease.retire();
        let lease = PutOptions::new().with_lease(self.lease.id());
        let bury = Txn::new().and_then([
            TxnOp::put(&*self.keys.tombstone, "", Some(lease)),
            self.deletion(),
        ]);
        let delete = Txn::new().and_then([self.deletion()]);
        let send = |client: Arc<Client>| {
            let (bury, delete) = (bury.clone(), delete.clone());
            async move {
                let mut client = client.kv_client();
                match client.txn(bury).await {
                    // Without the lease no key is created on it, but this one may have moved. A full
                    // server creates none either, and must not keep this one.
                    Err(error) if errors::is_lease_gone(&error) || errors::is_full(&error) => {
                        client.txn(delete).await.map(drop)
                    }
                    reply => reply.map(drop),
                }
            }
        };
        self.context
            .members
            .request_noting(effect_unknown, send)
            .await
    }
}

impl Waiter for QueueKey {
    fn watchdog(&self) -> &PollWatchdog {
        &self.watchdog
    }

    /// Removes the key unless it is granted or being undone. The attempt finds that out when it is polled
    /// again, and enqueues with another key.
    fn abandon(self: Arc<Self>) {
        if self.claim() {
            tracing::debug!(
                key = self.keys.own,
                "an acquire is not polled: its queue key is removed"
            );
            self.detach_key();
            tokio::spawn(async move { self.remove_and_unref().await });
        }
    }
}
