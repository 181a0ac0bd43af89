//! How a place goes, and that it does not come back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::Result;
use etcd_client::{Client, PutOptions, Txn, TxnOp};

use crate::{errors, lease::etcd_lease::until_done, queue::batch::Ask, queue::key::Entry};

impl Entry {
    /// Gives the place up; success also if it is gone. A request for it that is still on its way
    /// makes none (K4, K9).
    ///
    /// Dropped before its end, it leaves the key in doubt.
    pub(crate) async fn remove(&self) -> Result<()> {
        if self.is_over.load(Ordering::Acquire) {
            return Ok(());
        }
        let was_doubtful = self.doubtful.swap(true, Ordering::AcqRel);
        let is_doubtful = AtomicBool::new(was_doubtful);
        if self.is_own_carrier {
            // Nothing can be put on them after that.
            for carrier in self.standing.carriers() {
                carrier.revoke_noting(&is_doubtful).await?;
            }
        } else if self.standing.has_ended() {
            // By our own clock, perhaps: a new leader may have kept the lease, and the key, for longer.
            is_doubtful.store(true, Ordering::Release);
        } else {
            self.delete(was_doubtful, &is_doubtful).await?;
        }
        self.doubtful
            .store(is_doubtful.load(Ordering::Acquire), Ordering::Release);
        self.end();
        Ok(())
    }

    /// Gives the place and its seat up, if it takes until the lease has ended.
    pub(crate) async fn clear(&self) {
        let has_ended = || self.standing.has_ended();
        until_done(&self.session, has_ended, || self.remove()).await;
        self.end();
        self.standing.leave();
    }

    /// Takes the place away in the background from an attempt that nobody polls, unless something has
    /// become of it. When it is polled again it finds that out, and tries for another place.
    pub(crate) fn abandon(self: Arc<Self>) {
        if self.settle() {
            tracing::debug!(
                key = self.keys.own,
                "nobody polls this acquire: its place ends"
            );
            self.part();
            tokio::spawn(async move { self.clear().await });
        }
    }

    /// Whether a request that makes the place may still be on its way.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }

    /// It goes on without its attempt, which may stand somewhere else meanwhile: by another key, or
    /// what becomes of this place would become of that one.
    pub(crate) fn part(&self) {
        self.ids.renew(self.id);
    }

    /// There is no place in the store, and none will be made.
    pub(crate) fn end(&self) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.is_doubtful() {
            self.ids.renew(self.id);
        } else {
            self.ids.give_back(&self.keys.queue, self.id);
        }
    }

    async fn delete(&self, was_doubtful: bool, is_doubtful: &AtomicBool) -> Result<()> {
        let own = &*self.keys.own;
        if !was_doubtful {
            let delete = Ask::Delete(own.to_owned());
            return self.trips.join(delete, is_doubtful).await.map(drop);
        }
        // It ends with the only lease that the place could be made on; which then soon does (K12).
        self.carrier.retire();
        let lease = PutOptions::new().with_lease(self.carrier.id());
        let marked = Txn::new().and_then([
            TxnOp::put(&*self.keys.never, "", Some(lease)),
            TxnOp::delete(own, None),
        ]);
        let delete = |client: Arc<Client>| {
            let marked = marked.clone();
            async move {
                let mut client = client.kv_client();
                match client.txn(marked).await {
                    // No place is made on that lease any more, but this one may have moved. And a server
                    // that is full makes none either, and must not keep this one (T34).
                    Err(error) if errors::is_lease_gone(&error) || errors::is_full(&error) => {
                        client.delete(own, None).await.map(drop)
                    }
                    answer => answer.map(drop),
                }
            }
        };
        self.session.ask_noting(is_doubtful, delete).await
    }
}
