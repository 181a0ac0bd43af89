//! Whether the new store counts.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    AttemptId, Error, ErrorKind, Result,
    backend::{Attempt, MigrationStage, SentAt},
    toolkit::Batcher,
};

use super::{old_counts::OldCounts, stores::Store};

/// The bound on the acquires that share a read.
const READERS_MAX: usize = 1000;

/// Whether the new store counts: read from its record, until it does. Not read while the old store is known to count.
pub(super) struct Switch {
    is_done: Arc<AtomicBool>,
    old_counts: Arc<OldCounts>,
    reads: Batcher<(), bool>,
    id: AttemptId,
}

impl Switch {
    pub(super) fn new(new: Store, id: AttemptId, is_done: bool, old_counts: OldCounts) -> Self {
        let is_done = Arc::new(AtomicBool::new(is_done));
        let (found, clock) = (is_done.clone(), new.backend.clock());
        let reads = Batcher::eager(READERS_MAX, move |readers: Vec<()>| {
            let (new, found) = (new.clone(), found.clone());
            let sent = SentAt::now(&clock);
            Box::pin(async move {
                let is_done = read(&new, id).await?;
                if is_done {
                    found.store(true, Ordering::Release);
                }
                Ok((sent, vec![is_done; readers.len()]))
            })
        });
        Self {
            is_done,
            old_counts: Arc::new(old_counts),
            reads,
            id,
        }
    }

    /// The answer as far as it is known, for a grant that outlives this.
    pub(super) fn known(&self) -> Arc<AtomicBool> {
        self.is_done.clone()
    }

    /// The identity of the migration.
    pub(super) fn id(&self) -> AttemptId {
        self.id
    }

    /// Whether it is known that the new store counts.
    pub(super) fn is_known(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Whether the new store counts, at a moment after this call. The record is read by one request for many callers.
    pub(super) async fn is_done(&self) -> Result<bool> {
        if self.is_known() {
            return Ok(true);
        }
        if self.old_counts.is_sure() {
            return Ok(false);
        }
        // Boxed, as it is rare: the futures of acquires stay small.
        let (_, is_done) = Box::pin(self.reads.join(())).await?;
        Ok(is_done)
    }

    /// As [`is_done`](Self::is_done), until `attempt` is cancelled.
    pub(super) async fn is_done_for(&self, attempt: &Attempt) -> Result<bool> {
        tokio::select! {
            biased;
            is_done = self.is_done() => is_done,
            () = attempt.cancelled() => Err(Error::cancelled()),
        }
    }
}

async fn read(new: &Store, id: AttemptId) -> Result<bool> {
    let Some(found) = new.migration().await? else {
        let why = format!(
            "the record of the migration {id} is gone from the new store; run \"dlock migrate status FROM TO\""
        );
        return Err(Error::new(ErrorKind::Unavailable, why));
    };
    match found.stage {
        MigrationStage::Arriving if found.id == id => Ok(false),
        MigrationStage::Arrived if found.id == id => Ok(true),
        // No wait ends these (K6).
        MigrationStage::Cancelled if found.id == id => {
            let why = format!(
                "the migration was cancelled: use {} alone, the URL in from=",
                found.other
            );
            Err(Error::new(ErrorKind::InvalidConfig, why))
        }
        _ => {
            let why = format!(
                "the migration {id} is over: run \"dlock migrate status FROM TO\", and start this program with the URL of the \
                 store whose locks count, or for another migration"
            );
            Err(Error::new(ErrorKind::InvalidConfig, why))
        }
    }
}
