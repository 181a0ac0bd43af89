//! The trait, on two stores.

use std::fmt;

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, Error, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed},
};

use super::{
    absent::Absent,
    acquire::Acquirer,
    capabilities::capabilities,
    hold::Hold,
    next_move::NextMove,
    old_counts::OldCounts,
    old_store::OldStore,
    opening,
    stores::{self, Store},
    stragglers,
    switch::Switch,
};

/// Locks that move from one store to another: see the [module](super).
pub struct MigrateLock {
    old: OldStore,
    new: Store,
    switch: Switch,
    next_move: NextMove,
}

impl MigrateLock {
    /// Opens the migration from `old` to `new`, which was begun by `dlock migrate start`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the records of the stores are not those of one migration in this direction. `Unsupported` if
    /// one of the stores cannot keep a record, or its tokens do not grow. `Unavailable` also if the old store has lost its
    /// record after the switch. `Denied` and others as they come: both stores are needed here.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops both stores.
    pub async fn open(old: Store, new: Store) -> Result<Self> {
        stragglers::register_metric();
        let switch = opening::open(&old, &new).await?;
        Ok(Self::of(old, new, switch))
    }

    /// Opens the new store alone, if its record says that it counts: then the old one does not count any more. `why` is
    /// the error of the old one, which is returned before the switch.
    pub(super) async fn open_without_old(new: Store, why: Error) -> Result<Self> {
        let Some(id) = stores::arrived(&new).await? else {
            return Err(why);
        };
        tracing::warn!(error = %why, "the old store cannot be opened; its locks do not count any more");
        let absent = Store::new(Absent::beside(&new, &why), 0);
        let old_counts = OldCounts::new(absent.clone(), new.clone(), id);
        let switch = Switch::new(new.clone(), id, true, old_counts);
        Ok(Self::of(absent, new, switch))
    }

    fn of(old: Store, new: Store, switch: Switch) -> Self {
        Self {
            next_move: NextMove::new(new.clone(), switch.id()),
            switch,
            old: OldStore::new(old),
            new,
        }
    }

    fn old(&self) -> &dyn DistributedLock {
        &*self.old.store.backend
    }
}

#[async_trait]
impl DistributedLock for MigrateLock {
    fn capabilities(&self) -> Capabilities {
        capabilities(&self.old().capabilities(), &self.new.backend.capabilities())
    }

    fn clock(&self) -> Clock {
        self.new.backend.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let acquirer = Acquirer {
            old: &self.old,
            new: &self.new,
            switch: &self.switch,
        };
        acquirer.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        Hold::of(lease)?.renew(&self.switch).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        Hold::of(lease)?.release(&self.switch).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let in_new = async {
            let holder = self.new.backend.inspect(name).await?;
            Ok(with_base(holder, self.new.token_base))
        };
        if self.switch.is_done().await? {
            return in_new.await;
        }
        let in_old = async {
            let holder = self.old().inspect(name).await?;
            let holder = holder.map(stragglers::warned);
            Ok(with_base(holder, self.old.store.token_base))
        };
        // Who has both is the holder; who has one of them may wait for the other.
        let (in_old, in_new) = tokio::try_join!(in_old, in_new)?;
        Ok(in_old.or(in_new))
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(&self.next_move)
    }

    async fn close(&self) -> Result<()> {
        let (old, new) = tokio::join!(self.old.close(), self.new.backend.close());
        old.and(new)
    }
}

fn with_base(holder: Option<Holder>, base: u64) -> Option<Holder> {
    holder.map(|mut holder| {
        holder.token = holder.token.and_then(|token| token.with_base(base));
        holder
    })
}

impl fmt::Debug for MigrateLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrateLock")
            .field("old", &self.old.store)
            .field("new", &self.new)
            .field("is_switched", &self.switch.is_known())
            .finish()
    }
}
