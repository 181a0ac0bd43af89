//! Held locks of this process: release and loss.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
};

use dlock_core::{Error, LostCause, Result, Token, backend::Attempt, toolkit::Lock};

use crate::{
    keys::FileName,
    store::{lock_file::LockFile, record},
    watch::change::Change,
};

/// A lock that is held: the handle of its lease. Dropping it frees the lock.
pub(crate) struct Hold {
    attempt: Attempt,
    /// The token in the file.
    token: Lock<Token>,
    /// The lock's name, prefix included, as it is in the file.
    name: String,
    file_name: FileName,
    /// `None` after the release.
    file: Lock<Option<LockFile>>,
    table: Arc<Holds>,
}

impl Hold {
    /// Enters the hold into `table`. The caller checks afterwards that its file is in place: so that check or a
    /// later event finds a removal.
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
            token: Lock::new(token),
            name,
            file_name: file_name.clone(),
            file: Lock::new(Some(file)),
            table: table.clone(),
        });
        table.insert(&held)?;
        Ok(held)
    }

    /// Whether the file is still at its path. False after the release.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        self.file
            .lock()
            .as_ref()
            .map_or(Ok(false), LockFile::is_in_place)
    }

    /// Frees the lock, once; the token stays in the file.
    ///
    /// It cannot fail: a holder's line may stay because the disk is full, but only a locked file has a holder.
    pub(crate) fn release(&self) {
        let Some(file) = self.file.lock().take() else {
            return;
        };
        self.table.remove(self);
        if let Err(error) = file.write(&record::render(*self.token.lock(), &self.name, None)) {
            tracing::debug!(%error, "a released lock file keeps its holder's line");
        }
    }

    /// Raises the token in the file to `token` if this holds the lock; whether it does.
    pub(crate) fn raise(&self, token: Token) -> Result<bool> {
        let file = self.file.lock();
        let Some(file) = file.as_ref() else {
            return Ok(false);
        };
        if !file.is_in_place()? {
            return Ok(false);
        }
        let mut in_file = self.token.lock();
        if token > *in_file {
            let holder = file
                .read()?
                .holder
                .and_then(|holder| record::line(&holder, token));
            file.write(&record::render(token, &self.name, holder.as_deref()))?;
            *in_file = token;
        }
        Ok(true)
    }

    /// Reports a loss. A failed check is not a loss; it is repeated.
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

/// All holds by file name. One file name has several only while a lost hold has not been released.
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

    /// Checks the holds of the changed files.
    pub(crate) fn apply(&self, changes: &[Change]) {
        if changes.contains(&Change::Anything) {
            self.check_all();
            return;
        }
        for change in changes {
            if let Change::File(file_name) = change {
                self.check_file(file_name);
            }
        }
    }

    /// Checks the holds of one file, which may be gone.
    fn check_file(&self, file_name: &FileName) {
        let found = self
            .0
            .lock()
            .by_file
            .get(file_name)
            .map(|holds| alive(holds));
        found.iter().flatten().for_each(|held| held.check());
    }

    /// Checks all holds.
    pub(crate) fn check_all(&self) {
        self.all().iter().for_each(|held| held.check());
    }

    /// Reports the loss of all holds, frees them, and refuses later ones.
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
            return Err(Error::closed());
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

/// The holds that have not been dropped. The caller drops them after it has released the table's lock, which the
/// drop of the last reference takes again.
fn alive(holds: &[Weak<Hold>]) -> Vec<Arc<Hold>> {
    holds.iter().filter_map(Weak::upgrade).collect()
}
