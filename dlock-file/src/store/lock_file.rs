//! One lock file: open it, lock it, read and write its record.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::Arc,
};

use dlock_core::{Error, ErrorKind, Result};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use crate::{
    errors,
    keys::FileName,
    store::{
        directory::{Directory, Identity},
        record::{FIRST_LINE_BYTES, RECORD_BYTES, Record},
    },
};

/// A lock file and everything that is inside belong to their owner alone.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The result of one try to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryLock {
    /// The file is locked by this process.
    Locked,
    /// Another process or locker holds it.
    Contended,
    /// The file is free, but an inspection has it locked at this moment.
    Inspected,
}

/// An open lock file, locked or not. Dropping it frees the lock.
#[derive(Debug)]
pub(crate) struct LockFile {
    open: File,
    directory: Arc<Directory>,
    name: FileName,
}

impl LockFile {
    /// Opens the file, and creates it if it is not there; `None` when the directory itself is gone.
    ///
    /// The descriptor is closed on exec: a command that is started while the lock is held does not
    /// keep it.
    pub(crate) fn open(directory: &Arc<Directory>, name: &FileName) -> Result<Option<Self>> {
        Self::open_with(directory, name, OFlags::RDWR | OFlags::CREATE)
    }

    /// Opens the file to inspect it, if it is there. Read-only, so that closing it wakes no waiter.
    pub(crate) fn open_existing(
        directory: &Arc<Directory>,
        name: &FileName,
    ) -> Result<Option<Self>> {
        let file = Self::open_with(directory, name, OFlags::RDONLY)?;
        if let Some(file) = &file {
            file.identity()?;
        }
        Ok(file)
    }

    fn open_with(directory: &Arc<Directory>, name: &FileName, how: OFlags) -> Result<Option<Self>> {
        // Never through a symbolic link, which would lock a file elsewhere, and never waiting for the
        // other end of a pipe.
        let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let open = match rustix::fs::openat(directory.handle(), name.as_str(), flags, MODE) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(errors::of_io(&directory.path().join(name.as_str()), error)),
        };
        Ok(Some(Self {
            open,
            directory: directory.clone(),
            name: name.clone(),
        }))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join(self.name.as_str())
    }

    /// Whether its path still leads to it. A file that was removed or replaced does not exclude other holders.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        let (identity, path) = (self.identity()?, self.path());
        identity.is_at(&path, std::fs::symlink_metadata(&path))
    }

    /// Which file it is; an error unless it is a plain one.
    fn identity(&self) -> Result<Identity> {
        let metadata = self.open.metadata().map_err(|error| self.failed(error))?;
        if !metadata.is_file() {
            return Err(self.failed(Errno::NXIO));
        }
        Ok(Identity::of(&metadata))
    }

    fn failed(&self, error: impl Into<io::Error>) -> Error {
        errors::of_io(&self.path(), error)
    }

    /// Tries once to lock it exclusively.
    ///
    /// Holders lock exclusively and [`is_held`](Self::is_held) shared, so a second, shared try
    /// distinguishes the two: an inspector never makes a free lock appear taken.
    pub(crate) fn try_lock(&self) -> Result<TryLock> {
        let tried = || -> io::Result<TryLock> {
            if succeeded(self.open.try_lock())? {
                return Ok(TryLock::Locked);
            }
            if !succeeded(self.open.try_lock_shared())? {
                return Ok(TryLock::Contended);
            }
            if succeeded(self.open.try_lock())? {
                return Ok(TryLock::Locked);
            }
            self.open.unlock()?;
            Ok(TryLock::Inspected)
        };
        tried().map_err(|error| self.failed(error))
    }

    /// Whether another process or locker holds it.
    ///
    /// The contents do not prove that: a killed holder leaves its line, and another program's lock has
    /// none.
    pub(crate) fn is_held(&self) -> Result<bool> {
        let held = || -> io::Result<bool> {
            if !succeeded(self.open.try_lock_shared())? {
                return Ok(true);
            }
            self.open.unlock()?;
            Ok(false)
        };
        held().map_err(|error| self.failed(error))
    }

    /// Reads the record. Other contents are an empty record; a record of another layout is an error.
    pub(crate) fn read(&self) -> Result<Record> {
        self.read_start::<RECORD_BYTES>()
    }

    /// Reads the token of the record, on the way to a grant.
    pub(crate) fn read_token(&self) -> Result<Record> {
        self.read_start::<FIRST_LINE_BYTES>()
    }

    fn read_start<const BYTES: usize>(&self) -> Result<Record> {
        let mut bytes = [0; BYTES];
        let read = self.open.read_at(&mut bytes, 0);
        let read = read.map_err(|error| self.failed(error))?;
        Record::check_layout(&bytes[..read])?;
        let record = Record::parse(&bytes[..read]);
        if record.token.is_none() {
            // Not a lock file yet: something else, such as a device, must not be written.
            self.identity()?;
        }
        Ok(record)
    }

    /// Replaces its record, in one write.
    ///
    /// It is not flushed to the disk: the page cache outlives every process, and after a power loss
    /// the clock takes over the counting (K5).
    pub(crate) fn write(&self, record: &[u8; RECORD_BYTES]) -> Result<()> {
        let written = self.open.write_at(record, 0);
        match written.map_err(|error| self.failed(error))? {
            RECORD_BYTES => Ok(()),
            short => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{}: only {short} bytes were written; free some space",
                    self.path().display()
                ),
            )),
        }
    }
}

impl Drop for LockFile {
    /// Unlocks before it closes. A child of this process that has not reached its exec yet shares the lock, and
    /// would keep it for that long. A failure is impossible on an open descriptor, and the close frees the lock in
    /// any case.
    fn drop(&mut self) {
        let _ = self.open.unlock();
    }
}

fn succeeded(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
