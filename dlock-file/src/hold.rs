//! What this process holds.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
};

use dlock_core::{LostCause, Result, Token, backend::Attempt, toolkit::Lock};

use crate::{
    errors,
    keys::FileName,
    store::{lock_file::LockFile, record},
};

/// A lock that is held: the handle of its lease. Dropping it frees the lock.
pub(crate) struct Hold {
    attempt: Attempt,
    token: Token,
    /// The lock's name, prefix included, as it stands in the file.
    name: String,
    file_name: FileName,
    /// `None` after the release.
    file: Lock<Option<LockFile>>,
    table: Arc<Holds>,
}

impl Hold {
    /// Enters the hold into `table`, which must happen before its file is last checked to be in
    /// place: so a removal is seen by that check or by whoever looks at the table.
    pub(crate) fn enter(
        table: &Arc<Holds>,
        attempt: &Attempt,
        token: Token,
        name: String,
        file_name: &FileName,
        file: LockFile,
    ) -> Result<Arc<Self>> {
        let held = Arc::new(Self {
            attempt: attempt.clone(),
            token,
            name,
            file_name: file_name.clone(),
            file: Lock::new(Some(file)),
            table: table.clone(),
        });
        table.insert(&held)?;
        Ok(held)
    }

    /// Whether the file is still what its path leads to. A hold that was released is none.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        self.file
            .lock()
            .as_ref()
            .map_or(Ok(false), LockFile::is_in_place)
    }

    /// Frees the lock, once; the token stays in the file.
    ///
    /// It cannot fail: a holder's line that stays because the disk is full misleads nobody, since
    /// only a locked file has a holder.
    pub(crate) fn release(&self) {
        let Some(file) = self.file.lock().take() else {
            return;
        };
        self.table.remove(self);
        if let Err(error) = file.write(&record::render(self.token, &self.name, None)) {
            tracing::debug!(%error, "a released lock file keeps its holder's line");
        }
    }

    /// Tells the guard if the lock is lost. What cannot be looked at is not lost: the next look tells.
    fn check(&self) {
        let found = self.file.lock().as_ref().map(LockFile::is_in_place);
        if matches!(found, Some(Ok(false))) {
            self.attempt.report_lost(LostCause::Removed);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("file_name", &self.file_name)
            .finish_non_exhaustive()
    }
}

/// All holds, found by file name when the watch tells that a file is gone. Of one file name there is
/// more than one only while a lost hold has not been released.
#[derive(Debug, Default)]
pub(crate) struct Holds(Lock<Entries>);

#[derive(Debug, Default)]
struct Entries {
    closed: bool,
    by_file: HashMap<FileName, Vec<Weak<Hold>>>,
}

impl Holds {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().by_file.is_empty()
    }

    /// Looks at the holds of one file, which may be gone.
    pub(crate) fn check_file(&self, file_name: &FileName) {
        let found = self
            .0
            .lock()
            .by_file
            .get(file_name)
            .map(|holds| alive(holds));
        found.iter().flatten().for_each(|held| held.check());
    }

    /// Looks at all holds.
    pub(crate) fn check_all(&self) {
        self.all().iter().for_each(|held| held.check());
    }

    /// Frees everything, tells the guards first, and refuses what comes later.
    pub(crate) fn close(&self) {
        self.0.lock().closed = true;
        for held in self.all() {
            held.attempt.report_lost(LostCause::Closed);
            held.release();
        }
    }

    fn all(&self) -> Vec<Arc<Hold>> {
        self.0
            .lock()
            .by_file
            .values()
            .flat_map(|holds| alive(holds))
            .collect()
    }

    fn insert(&self, held: &Arc<Hold>) -> Result<()> {
        let mut entries = self.0.lock();
        if entries.closed {
            return Err(errors::closed());
        }
        let file_name = held.file_name.clone();
        entries
            .by_file
            .entry(file_name)
            .or_default()
            .push(Arc::downgrade(held));
        Ok(())
    }

    fn remove(&self, held: &Hold) {
        let mut entries = self.0.lock();
        if let Some(holds) = entries.by_file.get_mut(&held.file_name) {
            holds.retain(|other| !std::ptr::eq(other.as_ptr(), held));
            if holds.is_empty() {
                entries.by_file.remove(&held.file_name);
            }
        }
    }
}

/// The holds that have not been dropped. The caller lets go of them after the table's lock: the last
/// one to let go of a hold takes it again.
fn alive(holds: &[Weak<Hold>]) -> Vec<Arc<Hold>> {
    holds.iter().filter_map(Weak::upgrade).collect()
}
