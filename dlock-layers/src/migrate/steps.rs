//! The steps of a migration, which an operator takes: start, switch, cancel.
//!
//! Each step changes one record after the other, and each record only from what was read. So a step that was cut off is
//! taken again, and of two operators at the same time one is refused.

use dlock_core::{
    AttemptId, Error, ErrorKind, Holder, Result,
    backend::{Migration, MigrationStage},
};

use super::{status::Status, stores::Store};

/// A migration from one store to another, as an operator sees it.
///
/// ```
/// use dlock_core::{Locker, memory::Memory};
/// use dlock_layers::migrate::{MigrateLock, Steps, Store};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> dlock_core::Result<()> {
/// let (old, new) = (Memory::new(), Memory::new());
/// let stores = || (Store::new(old.clone(), 0), Store::new(new.clone(), 1_000_000));
///
/// let (from, to) = stores();
/// let steps = Steps::new(from, to, "redis://db-1", "etcd://etcd-1?token_base=1000000")?;
/// steps.start().await?;
///
/// let (from, to) = stores();
/// let locks = Locker::builder(MigrateLock::open(from, to).await?).build()?;
/// let before = locks.acquire("report").await?;
/// let token = before.token();
/// before.release().await?;
///
/// steps.switch().await?;
/// let after = locks.acquire("report").await?;
/// assert!(after.token() > token);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Steps {
    pub(super) old: Store,
    pub(super) new: Store,
    pub(super) old_url: String,
    pub(super) new_url: String,
}

impl Steps {
    /// The migration from `old` to `new`. Each record has the URL of the other store, without secrets and without
    /// spaces.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a URL that is empty, has a space, or more than [`Migration::OTHER_BYTES_MAX`] bytes.
    pub fn new(
        old: Store,
        new: Store,
        old_url: impl Into<String>,
        new_url: impl Into<String>,
    ) -> Result<Self> {
        let (old_url, new_url) = (old_url.into(), new_url.into());
        for url in [&old_url, &new_url] {
            let (length, max) = (url.len(), Migration::OTHER_BYTES_MAX);
            if url.is_empty() || url.contains(char::is_whitespace) || length > max {
                let why = format!(
                    "the URL {url:?} of a migration has {length} bytes, allowed are 1 to {max}, and no spaces"
                );
                return Err(Error::new(ErrorKind::InvalidConfig, why));
            }
        }
        Ok(Self {
            old,
            new,
            old_url,
            new_url,
        })
    }

    /// Reads both records.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a store that cannot keep a record. `Unavailable`, `Denied` and others as they come.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn status(&self) -> Result<Status> {
        let (old, new) = tokio::try_join!(self.old.migration(), self.new.migration())?;
        Ok(Status { old, new })
    }

    /// Begins the migration, after which `migrate:` can be opened; also if it was begun already. Programs that use the
    /// old store alone go on.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when one of the stores is in another migration, when both are the same store, and for a
    /// `token_base` of one of them that is too small. `Denied`, before any change, where a record may not be written.
    /// Others as [`status`](Self::status).
    ///
    /// # Cancel safety
    ///
    /// The migration may be half begun: call it again, or [`cancel`](Self::cancel) it.
    pub async fn start(&self) -> Result<AttemptId> {
        use MigrationStage::{Arrived, Arriving, Cancelled, Leaving, Left};
        self.check_base()?;
        let Status { old, new } = self.status().await?;
        let id = match &old {
            None => AttemptId::random(),
            Some(found) => match found.stage {
                // The locks came here by an earlier migration, or one was cancelled.
                Cancelled | Arrived => {
                    let base = found.check_alone(self.old.token_base);
                    base.map_err(|error| self.old.in_context(error))?;
                    AttemptId::random()
                }
                // Begun with this new store.
                Leaving if self.is_with_new(found, new.as_ref()) => {
                    self.check_same_bases(found)?;
                    found.id
                }
                _ => return Err(self.not_startable(&self.old, found, new.as_ref())),
            },
        };
        match &new {
            None => {}
            // The locks went from here by an earlier migration, or one was cancelled.
            Some(found) if matches!(found.stage, Cancelled | Left) => {}
            Some(found) if found.stage == Arriving && found.id == id => return Ok(id),
            Some(found) => return Err(self.not_startable(&self.new, found, old.as_ref())),
        }
        // The first change of the old store would be left alone without the right to the second one.
        tokio::try_join!(self.old.check_writable(), self.new.check_writable())?;
        let leaving = self.record(Leaving, id, &self.new_url, self.old.token_base);
        self.old.advance(old.as_ref(), &leaving).await?;
        if self.new.migration().await?.as_ref() == Some(&leaving) {
            let cancelled = self.record(Cancelled, id, &self.new_url, leaving.own_base);
            self.old.advance(Some(&leaving), &cancelled).await?;
            let why = format!(
                "both URLs lead to the same store: {} and {}",
                self.old_url, self.new_url
            );
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        let arriving = self.record(Arriving, id, &self.old_url, own_base(new.as_ref()));
        self.new.advance(new.as_ref(), &arriving).await?;
        Ok(id)
    }

    /// Ends a migration before its switch. All programs should use the old store alone again: those with `migrate:` get
    /// no more locks after 30 s, the validity of a reading ([`Migration::READ_VALID`]).
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when there is none, and after the switch: then the way back is a migration in the other
    /// direction. Others as [`status`](Self::status).
    ///
    /// # Cancel safety
    ///
    /// The migration may be half cancelled: call it again.
    pub async fn cancel(&self) -> Result<()> {
        use MigrationStage::{Arrived, Cancelled, Closed, Leaving, Left};
        let status = self.status().await?;
        self.check_order(&status)?;
        if self.cancel_lost(&status).await? {
            return Ok(());
        }
        let Status { old, new } = &status;
        let Some(old) = old
            .as_ref()
            .filter(|old| self.is_with_new(old, new.as_ref()))
        else {
            return Err(self.no_cancel(&status));
        };
        let of_this = new.as_ref().filter(|new| new.id == old.id);
        match (old.stage, of_this.map(|new| new.stage)) {
            (Left, _) | (_, Some(Arrived)) => {
                return Err(self.done());
            }
            // Both are the same store.
            (Leaving, Some(Leaving)) => {}
            // A migration in the other direction.
            (Cancelled, Some(Leaving | Closed | Left)) => return Err(self.none(&status)),
            // The new store first: afterwards no start or switch that is on its way can follow.
            (Leaving | Closed | Cancelled, stage) if stage != Some(Cancelled) => {
                let found = new.as_ref();
                let of_other = found.filter(|new| new.id != old.id && new.stage != Cancelled);
                let next = match of_other {
                    None => Some(self.record(Cancelled, old.id, &self.old_url, own_base(found))),
                    // The locks of that store moved away earlier, and it still says so.
                    Some(kept) if kept.stage == Left => {
                        let left = self.record(Left, kept.id, &kept.other, kept.own_base);
                        Some(Migration {
                            token_base: kept.token_base,
                            ..left
                        })
                    }
                    // It is in another migration.
                    Some(_) => None,
                };
                if let Some(next) = next {
                    self.new.advance(found, &next).await?;
                }
            }
            (Leaving | Closed | Cancelled, _) => {}
            _ => return Err(self.none(&status)),
        }
        if old.stage == Cancelled {
            return Ok(());
        }
        let cancelled = self.record(Cancelled, old.id, &self.new_url, old.own_base);
        self.old.advance(Some(old), &cancelled).await
    }

    /// Whether the migration in the record of the old store is the one to this new store, whose record is `new`.
    pub(super) fn is_with_new(&self, old: &Migration, new: Option<&Migration>) -> bool {
        new.map_or(old.other == self.new_url, |new| {
            new.id == old.id || old.other == self.new_url
        })
    }

    /// A record with the URL of the `other` store, in a store whose own `token_base` is `own_base`.
    pub(super) fn record(
        &self,
        stage: MigrationStage,
        id: AttemptId,
        other: &str,
        own_base: u64,
    ) -> Migration {
        let this = Holder::this_process();
        Migration {
            stage,
            id,
            since_unix_micros: self.new.backend.clock().unix_micros(),
            by: format!(
                "{}@{}",
                this.pid.unwrap_or_default(),
                this.host.unwrap_or_default()
            ),
            other: other.to_owned(),
            token_base: self.new.token_base,
            own_base,
        }
    }
}

/// The own `token_base` of the new store, as its last record has it: before its first migration no lock counted there.
pub(super) fn own_base(new: Option<&Migration>) -> u64 {
    new.map_or(0, |new| new.own_base)
}
