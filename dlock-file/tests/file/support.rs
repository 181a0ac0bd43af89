//! Shared parts of the tests of this backend.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dlock_core::{
    Capabilities, Holder, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    blocking,
};
use dlock_file::{FileConfig, FileLock};
use tempfile::TempDir;

/// The bound of each wait: only a hang reaches it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A user that owns nothing here.
pub(crate) const OTHER_USER: u32 = 65_534;

pub(crate) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// A copy of this binary in `directory`, which all users can reach from now on: the original may be where
/// another user cannot.
pub(crate) fn binary_for_other_users(directory: &Path) -> PathBuf {
    chmod(directory, 0o755);
    let binary = directory.join("binary");
    fs::copy(env::current_exe().expect("test binary"), &binary).expect("copied");
    chmod(&binary, 0o755);
    binary
}

pub(crate) fn directory() -> TempDir {
    tempfile::Builder::new()
        .prefix("dlock-file-")
        .tempdir()
        .expect("temporary directory")
}

pub(crate) fn open(directory: &Path) -> FileLock {
    FileLock::open(FileConfig::new(directory)).expect("open")
}

/// A locker of its own backend, as another process would have it.
pub(crate) fn locker(directory: &Path) -> Locker {
    Locker::builder(open(directory)).build().expect("locker")
}

/// The same for a process without a runtime.
pub(crate) fn blocking_locker(directory: &Path) -> blocking::Locker {
    let locker = blocking::Locker::builder(open(directory));
    locker.build().expect("locker")
}

/// A locker whose backend the test keeps, too.
pub(crate) fn locker_of(backend: &Arc<FileLock>) -> Locker {
    Locker::builder(Shared(backend.clone()))
        .build()
        .expect("locker")
}

/// Ends within [`TEST_TIMEOUT`], or fails the test.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(TEST_TIMEOUT, what)
        .await
        .expect("this takes too long")
}

/// Gives a waiter the time to be past its back-off, so that only an event can wake it early.
pub(crate) async fn past_back_off() {
    tokio::time::sleep(Duration::from_millis(120)).await;
}

/// A backend that a test observes while its locker uses it.
#[derive(Debug)]
struct Shared(Arc<FileLock>);

#[async_trait]
impl DistributedLock for Shared {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.0.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.0.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
