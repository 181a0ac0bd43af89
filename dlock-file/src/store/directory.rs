//! The directory of the locks: creating it, its checks, and whether it was replaced.

use std::{
    fs::{File, Metadata},
    io,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use dlock_core::{Error, ErrorKind, Result};
use rustix::{
    fs::{Access, AtFlags, Mode, OFlags},
    io::Errno,
};

use crate::{
    config::FileConfig,
    errors,
    store::{filesystem, layout_version},
};

/// Other users with write access could remove or occupy locks.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A directory with this bit, such as the system's temporary one, is meant for all users.
const STICKY: u32 = 0o1000;

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Whether `path` still leads to this file. A failed check is an error, not a
    /// replaced file.
    pub(crate) fn is_at(self, path: &Path, found: io::Result<Metadata>) -> Result<bool> {
        match found {
            Ok(metadata) => Ok(Self::of(&metadata) == self),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
                _ => Err(errors::of_io(path, error)),
            },
        }
    }
}

/// An open directory that has passed all checks.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    open: File,
    identity: Identity,
}

impl Directory {
    /// Opens the directory of `config`, and makes it if it is not there.
    pub(crate) fn open(config: &FileConfig) -> Result<Self> {
        let path = config.directory();
        let open = match open_directory(path) {
            Err(Errno::NOENT) => {
                make(config)?;
                open_directory(path)
            }
            opened => opened,
        };
        let open = open.map_err(|error| errors::of_io(path, error))?;
        let metadata = open
            .metadata()
            .map_err(|error| errors::of_io(path, error))?;
        check_owner(path, &metadata)?;
        check_file_system(path, &open)?;
        check_writable(path, &open)?;
        layout_version::check(path, &open)?;
        Ok(Self {
            path: path.to_owned(),
            open,
            identity: Identity::of(&metadata),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open directory, to name files from.
    pub(crate) fn handle(&self) -> &File {
        &self.open
    }

    /// Whether its path still leads to it.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        self.identity
            .is_at(&self.path, std::fs::metadata(&self.path))
    }
}

fn open_directory(path: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(File::from)
}

fn make(config: &FileConfig) -> Result<()> {
    for path in config.makes() {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            // A strict umask would leave a directory that its owner cannot use either.
            Ok(()) => {
                rustix::fs::chmod(path, Mode::RWXU).map_err(|error| errors::of_io(path, error))?;
            }
            Err(Errno::EXIST) => {}
            Err(error @ Errno::NOENT) => {
                let message = format!(
                    "{}: the directory that it is to be made in is not there; make that first",
                    path.display()
                );
                return Err(Error::new(ErrorKind::InvalidConfig, message).with_source(error));
            }
            Err(error) => return Err(errors::of_io(path, error)),
        }
    }
    Ok(())
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<()> {
    let (owner, we) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let mode = metadata.permissions().mode();
    let path = path.display();
    let message = if owner != we {
        format!(
            "{path}: it belongs to user {owner} and this process is user {we}; \
             all that share locks must be one user, the owner"
        )
    } else if mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY != 0 {
        format!("{path}: all users may write there; choose a directory of your own inside it")
    } else if mode & WRITABLE_BY_OTHERS != 0 {
        format!(
            "{path}: others may write there (mode {:o}) and could take locks away; chmod go-w it",
            mode & 0o7777
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Denied, message))
}

fn check_file_system(path: &Path, open: &File) -> Result<()> {
    match filesystem::shared_kind(open.as_fd()).map_err(|error| errors::of_io(path, error))? {
        None => Ok(()),
        Some(kind) => {
            let message = format!(
                "{}: this is {kind}, which machines share and locks do not cross; \
                 choose a local directory, or a store with a server",
                path.display()
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// The system's own answer, so that nothing has to be written to find out.
fn check_writable(path: &Path, open: &File) -> Result<()> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(open, ".", access, AtFlags::EACCESS)
        .map_err(|error| errors::of_io(path, error))
}
