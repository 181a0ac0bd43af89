//! Held locks: their table, their renewal, their release.
//!
//! The handle of a lease is an `Arc<Written>`.

pub(crate) mod raise_batch;
pub(crate) mod renew_batch;

use std::{collections::HashMap, sync::Arc};

use dlock_core::{
    AttemptId, LostCause, Result,
    backend::{Lease, Renewed},
    toolkit::Lock,
};
use foldhash::fast::RandomState;
use tokio::task::JoinSet;

use crate::{
    acquire::{after_release::AfterRelease, batch::CommandBatcher},
    hold::renew_batch::RenewBatcher,
    keys::Keys,
    scripts::{ReleaseItem, RenewItem, RenewOutcome, Written},
};

/// The held locks, by attempt: `close` releases them.
#[derive(Default)]
pub(crate) struct Holds {
    held: Lock<HashMap<AttemptId, Arc<Keys>, RandomState>>,
    after_release: AfterRelease,
}

impl Holds {
    pub(crate) fn insert(&self, lease: &Lease, keys: Arc<Keys>) {
        self.held.lock().insert(lease.id(), keys);
    }

    /// Releases a lock. It leaves the table before that: a release that is dropped leaves the lock for its ttl.
    pub(crate) async fn release(
        &self,
        batcher: &CommandBatcher,
        lease: &Lease,
        keys: &Arc<Keys>,
    ) -> Result<()> {
        self.held.lock().remove(&lease.id());
        let item = match lease.handle::<Arc<Written>>() {
            Some(written) => ReleaseItem::Granted(written.clone()),
            None => ReleaseItem::Attempt(keys.clone(), lease.id()),
        };
        let listeners = batcher.release(item).await?;
        self.after_release.note(keys, listeners);
        Ok(())
    }

    /// The pauses of this client after its releases.
    pub(crate) fn after_release(&self) -> &AfterRelease {
        &self.after_release
    }

    /// Releases all locks at once.
    pub(crate) async fn release_all(&self, batcher: &Arc<CommandBatcher>) -> Result<()> {
        let holds = std::mem::take(&mut *self.held.lock());
        let mut releases = JoinSet::new();
        for (id, keys) in holds {
            let batcher = batcher.clone();
            releases.spawn(async move {
                batcher
                    .release(ReleaseItem::Attempt(keys, id))
                    .await
                    .map(drop)
            });
        }
        let mut result = Ok(());
        while let Some(released) = releases.join_next().await {
            result = result.and(released.unwrap_or(Ok(())));
        }
        result
    }
}

/// Renews a lock, or returns why it is lost.
pub(crate) async fn renew(
    batcher: &RenewBatcher,
    lease: &Lease,
    keys: Arc<Keys>,
) -> Result<Renewed> {
    let item = RenewItem {
        keys,
        id: lease.id(),
        ttl: lease.ttl,
    };
    let (sent, outcome) = batcher.renew(item).await?;
    Ok(match outcome {
        RenewOutcome::Held => lease.renewed(sent, lease.ttl),
        RenewOutcome::Gone => Renewed::Lost(LostCause::Removed),
        RenewOutcome::Taken => Renewed::Lost(LostCause::Taken),
    })
}
