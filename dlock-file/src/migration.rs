//! The record of a migration: the text of a symbolic link, as the version of the layout is.
//!
//! A link is replaced in one step by renaming another one, so no reader finds half of it.

use std::{fs::File, os::fd::AsFd, path::Path};

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{MigrationRecord, async_trait},
};
use rustix::{
    fs::{AtFlags, FlockOperation, flock, fsync, readlinkat, renameat, symlinkat, unlinkat},
    io::Errno,
};

use crate::{backend::FileLock, errors, keys::migration_link};

#[async_trait]
impl MigrationRecord for FileLock {
    async fn read(&self) -> Result<Option<String>> {
        let directory = self.lifecycle.directory()?;
        let link = migration_link(self.lifecycle.config().name_prefix());
        read(directory.handle(), directory.path(), &link)
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        let directory = self.lifecycle.directory()?;
        let (path, link) = (
            directory.path(),
            migration_link(self.lifecycle.config().name_prefix()),
        );
        // Opened again: duplicates of a descriptor share its lock.
        let own = File::open(path).map_err(|error| errors::of_io(path, error))?;
        match flock(&own, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let why = "another process changes the record of the migration";
                return Err(Error::new(ErrorKind::Unavailable, why));
            }
            Err(error) => return Err(errors::of_io(path, error)),
        }
        if read(&own, path, &link)?.as_deref() != expected {
            return Ok(false);
        }
        replace(&own, &link, next)
            .and_then(|()| fsync(&own))
            .map_err(|error| errors::of_io(&path.join(&link), error))?;
        Ok(true)
    }
}

fn read(directory: impl AsFd, path: &Path, link: &str) -> Result<Option<String>> {
    match readlinkat(directory, link, Vec::new()) {
        Ok(text) => Ok(Some(text.to_string_lossy().into_owned())),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::INVAL) => {
            let why = format!(
                "{}: it is not the record of a migration",
                path.join(link).display()
            );
            Err(Error::new(ErrorKind::InvalidConfig, why))
        }
        Err(error) => Err(errors::of_io(&path.join(link), error)),
    }
}

/// Under the lock on the directory: one process makes the other link.
fn replace(directory: impl AsFd, link: &str, text: &str) -> Result<(), Errno> {
    let other = format!("{link}-new");
    match unlinkat(&directory, &*other, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    symlinkat(text, &directory, &*other)?;
    renameat(&directory, &*other, &directory, link)
}

#[cfg(test)]
mod tests {
    use dlock_core::backend::DistributedLock as _;
    use dlock_verify::{migration_record, support::Outcome};

    use super::*;
    use crate::config::FileConfig;

    #[tokio::test]
    async fn the_record_changes_only_from_what_is_expected() -> Outcome {
        let folder = tempfile::tempdir()?;
        let store = FileLock::open(FileConfig::new(folder.path()))?;
        migration_record::changes_only_from_what_is_expected(&store).await
    }

    #[tokio::test]
    async fn each_prefix_has_a_record() -> Outcome {
        let folder = tempfile::tempdir()?;
        let mut stores = Vec::new();
        for prefix in migration_record::PREFIXES {
            stores.push(FileLock::open(
                FileConfig::new(folder.path()).prefix(prefix),
            )?);
        }
        let records: Outcome<Vec<_>> = stores.iter().map(migration_record::of).collect();
        migration_record::are_records_of_their_own(&records?).await
    }

    #[tokio::test]
    async fn a_closed_backend_reads_no_record() -> Outcome {
        let folder = tempfile::tempdir()?;
        let store = FileLock::open(FileConfig::new(folder.path()))?;
        store.close().await?;
        migration_record::is_refused_when_closed(&store).await
    }

    #[tokio::test]
    async fn another_kind_of_file_is_refused() -> Result<()> {
        let folder = tempfile::tempdir().expect("a directory");
        let store = FileLock::open(FileConfig::new(folder.path()))?;
        std::fs::write(folder.path().join(migration_link("")), "x").expect("a file");
        let refused = store.read().await.expect_err("no link");
        assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
        assert!(refused.to_string().contains("migration.move"), "{refused}");
        Ok(())
    }

    #[tokio::test]
    async fn two_processes_change_it_one_after_the_other() -> Result<()> {
        let folder = tempfile::tempdir().expect("a directory");
        let store = FileLock::open(FileConfig::new(folder.path()))?;
        let busy = File::open(folder.path()).expect("the directory");
        flock(&busy, FlockOperation::LockExclusive).expect("a lock");
        let refused = store.compare_and_set(None, "a").await.expect_err("busy");
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        drop(busy);
        assert!(store.compare_and_set(None, "a").await?);
        Ok(())
    }
}
