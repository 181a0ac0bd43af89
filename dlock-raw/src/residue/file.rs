//! Files: a lock is a file that a process has locked. The file itself is kept.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
};

use dlock_core::{
    Error, ErrorKind, LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use dlock_file::FileConfig;

use super::left::{InUse, Kind, Left, Store, unescaped};

/// The end of the names of lock files.
const SUFFIX: &str = ".lock";

/// dlock-file's mark between a long name and its hash, which is escaped elsewhere.
const HASH_MARK: char = '~';

/// A name that no file name escapes.
const PLAIN: &str = "x";

/// The directory of the locks.
pub(super) struct Files {
    config: FileConfig,
}

impl Files {
    pub(super) fn open(config: &Config) -> Result<Self> {
        let config = FileConfig::from_settings(&mut Settings::of(config)?)?;
        Ok(Self { config })
    }

    /// The begin of the file names of all locks: the prefix, escaped.
    fn begin(&self) -> Result<String> {
        let path = self.config.lock_file(&LockName::new(PLAIN)?);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begin = name.strip_suffix(&[PLAIN, SUFFIX].concat());
        begin.map(str::to_owned).ok_or_else(|| {
            let why =
                "with so long a prefix= the files of its locks cannot be separated from others";
            Error::new(ErrorKind::Unsupported, why)
        })
    }
}

#[async_trait]
impl Store for Files {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let path = self.config.lock_file(name);
        let Some((_file, is_free)) = try_lock(&path)? else {
            return Ok(Vec::new());
        };
        let kind = if is_free { Kind::Kept } else { Kind::Lock };
        Ok(vec![Left::new(name, path.display().to_string(), kind)])
    }

    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        let begin = self.begin()?;
        let directory = self.config.directory();
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| failed(directory, error))?,
        };
        let mut places = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| failed(directory, error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let lock = name.strip_prefix(&begin);
            let Some(lock) = lock.and_then(|rest| rest.strip_suffix(SUFFIX)) else {
                continue;
            };
            if matches!(try_lock(&path)?, Some((_, false))) {
                // That of a long name is cut, and ends with a hash.
                let name = match lock.contains(HASH_MARK) {
                    true => String::new(),
                    false => unescaped(lock),
                };
                places.push(InUse::new(path.display().to_string(), name));
                if places.len() == max {
                    break;
                }
            }
        }
        Ok(places)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        let path = self.config.lock_file(&left.name);
        // Held while it is removed, so that no process has it.
        let Some((_file, true)) = try_lock(&path)? else {
            return Ok(false);
        };
        fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        Ok(true)
    }
}

/// The file and whether it was free, in which case it is locked now; `None` if there is none.
fn try_lock(path: &Path) -> Result<Option<(File, bool)>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| failed(path, error))?,
    };
    let is_free = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => return Err(failed(path, error)),
    };
    Ok(Some((file, is_free)))
}

fn failed(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("cannot use {}", path.display())).with_source(error)
}
