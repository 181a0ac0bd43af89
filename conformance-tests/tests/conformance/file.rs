//! `file:`.

use std::fs::{self, File, TryLockError};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Reach, Target};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, toolkit::Lock,
};
use dlock_file::{FileConfig, FileLock};
use tempfile::TempDir;

/// The version of the layout, which stays.
const LAYOUT: &str = "layout";

/// One directory for each case; its address is its path.
#[derive(Debug)]
pub(super) struct FileTarget {
    capabilities: Capabilities,
    directories: Lock<Vec<TempDir>>,
}

impl FileTarget {
    pub(super) fn new() -> Result<Self> {
        // How many files may be open is known to the system only.
        let directory = TempDir::new().map_err(broken)?;
        let lock = FileLock::open(FileConfig::new(directory.path()))?;
        Ok(Self {
            capabilities: lock.capabilities(),
            directories: Lock::default(),
        })
    }
}

#[async_trait]
impl Target for FileTarget {
    fn name(&self) -> &str {
        "file"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn address(&self) -> Result<String> {
        let directory = TempDir::new().map_err(broken)?;
        let address = directory.path().to_string_lossy().into_owned();
        self.directories.lock().push(directory);
        Ok(address)
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        Ok(Box::new(FileLock::open(FileConfig::new(address))?))
    }

    fn reach(&self) -> Reach {
        Reach::Processes
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }

    fn extras(&self) -> &[Extra] {
        &[Extra::DataLoss]
    }
}

#[async_trait]
impl Backdoor for FileTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        for entry in fs::read_dir(address).map_err(broken)? {
            let path = entry.map_err(broken)?.path();
            if path.ends_with(LAYOUT) {
                continue;
            }
            // A lock file names its lock.
            if fs::read_to_string(&path)
                .map_err(broken)?
                .contains(name.as_str())
            {
                fs::remove_file(&path).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// The files stay, for their tokens; no process may have one locked.
    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for entry in fs::read_dir(address).map_err(broken)? {
            let path = entry.map_err(broken)?.path();
            if path.ends_with(LAYOUT) {
                continue;
            }
            let locked = File::open(&path).map_err(broken)?.try_lock();
            let is_lock_file = path
                .extension()
                .is_some_and(|extension| extension == "lock");
            if matches!(locked, Err(TryLockError::WouldBlock)) || !is_lock_file {
                left.push(path.display().to_string());
            }
        }
        Ok(left)
    }

    /// The lock files go, with their tokens.
    async fn lose_data(&self, address: &str) -> Result<()> {
        for entry in fs::read_dir(address).map_err(broken)? {
            let path = entry.map_err(broken)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                fs::remove_file(path).map_err(broken)?;
            }
        }
        Ok(())
    }
}

fn broken(source: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's directory").with_source(source)
}
