//! `file:`.

use std::{
    fs::{self, File, TryLockError},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Reach, Target};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, toolkit::Lock,
};
use dlock_file::{FileConfig, FileLock};
use tempfile::TempDir;

use crate::store::{Store, cannot};

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
        remove(Path::new(address), name)
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        residue(Path::new(address))
    }

    async fn lose_data(&self, address: &str) -> Result<()> {
        lose_data(Path::new(address))
    }
}

/// A directory for each prefix, in one directory of the run.
#[derive(Clone, Debug)]
pub(super) struct Files {
    capabilities: Capabilities,
}

impl Files {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            capabilities: FileTarget::new()?.capabilities,
        })
    }
}

fn directory(root: &TempDir, prefix: &str) -> PathBuf {
    root.path().join(prefix)
}

#[async_trait]
impl Store for Files {
    type Servers = TempDir;

    fn name(&self) -> &str {
        "file"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn extras(&self) -> &[Extra] {
        &[Extra::DataLoss]
    }

    fn lost_locks_stay(&self) -> bool {
        true
    }

    async fn start(&self) -> io::Result<TempDir> {
        TempDir::new()
    }

    async fn prepare(&self, root: &TempDir, prefix: &str) -> Result<()> {
        fs::create_dir(directory(root, prefix)).map_err(broken)
    }

    fn url(&self, root: &TempDir, prefix: &str) -> String {
        format!("file:{}?prefix={prefix}", directory(root, prefix).display())
    }

    fn server(&self, _: &TempDir) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, root: &TempDir, _: SocketAddr, prefix: &str) -> String {
        self.url(root, prefix)
    }

    fn separator(&self) -> &'static str {
        ":"
    }

    async fn remove(&self, root: &TempDir, prefix: &str, name: &LockName) -> Result<()> {
        remove(&directory(root, prefix), name)
    }

    async fn residue(&self, root: &TempDir, prefix: &str) -> Result<Vec<String>> {
        residue(&directory(root, prefix))
    }

    async fn lose_data(&self, root: &mut TempDir, prefix: &str) -> Result<()> {
        lose_data(&directory(root, prefix))
    }

    async fn fail_over(&self, _: &mut TempDir, _: &str, _: &LockName) -> Result<()> {
        Err(cannot("fail over"))
    }
}

/// The files, without the links: these are the version of the layout and the record of a migration, and stay.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if !entry.file_type().map_err(broken)?.is_symlink() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn remove(directory: &Path, name: &LockName) -> Result<()> {
    for path in files(directory)? {
        // A lock file names its lock.
        let text = fs::read_to_string(&path).map_err(broken)?;
        if text.contains(name.as_str()) {
            fs::remove_file(&path).map_err(broken)?;
        }
    }
    Ok(())
}

/// The lock files stay, for their tokens; no process may have one locked.
fn residue(directory: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for path in files(directory)? {
        let locked = File::open(&path).map_err(broken)?.try_lock();
        if matches!(locked, Err(TryLockError::WouldBlock)) || !is_lock_file(&path) {
            left.push(path.display().to_string());
        }
    }
    Ok(left)
}

/// The lock files go, with their tokens.
fn lose_data(directory: &Path) -> Result<()> {
    for path in files(directory)? {
        if is_lock_file(&path) {
            fs::remove_file(path).map_err(broken)?;
        }
    }
    Ok(())
}

fn is_lock_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "lock")
}

fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's directory").with_source(source)
}
