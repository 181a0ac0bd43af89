//! The backend for files.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{
    Capabilities, Error, ErrorKind, Expiry, Fencing, Holder, LockName, LostCause, Modes, Order,
    Result, Waiting,
    backend::{
        AcquireRequest, Deadline, DistributedLock, Lease, MigrationRecord, Renewal, Renewed,
        TokenCounter, async_trait,
    },
};

use crate::{acquire, config::FileConfig, errors, hold::Hold, inspect, lifecycle::Lifecycle};

/// Locks between the processes of one user on one machine: `flock(2)` on files of a directory.
///
/// Calls into the file system are made in place, not handed to a thread. Each takes a few microseconds on a local
/// file system, the only kind that is accepted. A thread pool costs more, and runs out of threads. None of them
/// waits for a lock.
///
/// It needs a tokio runtime with its I/O and time drivers. The first lock starts one task in the runtime it is
/// taken in. The task ends with [`close`](DistributedLock::close) or with this value. When that runtime ends
/// first, the next lock starts another.
pub struct FileLock {
    pub(crate) lifecycle: Arc<Lifecycle>,
    held_max: Option<u32>,
}

impl FileLock {
    /// The shortest ttl: what is left of it after the margin is still worth holding. It matters to
    /// leases that are not renewed; all others end with the process.
    const TTL_MIN: Duration = Duration::from_millis(10);

    /// The longest ttl: thirty days.
    const TTL_MAX: Duration = Duration::from_secs(30 * 86_400);

    /// A waiter without an event checks once in this time.
    const TAKEOVER_MAX: Duration = Duration::from_secs(1);

    /// The part of the process's descriptors, one in this many, that is left to everything else: waiters, sockets,
    /// the pipes of children.
    const DESCRIPTORS_LEFT: u64 = 4;

    /// Opens the directory of `config`, and creates it if need be. Needs no runtime.
    ///
    /// ```
    /// use dlock_core::Locker;
    /// use dlock_file::{FileConfig, FileLock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("dlock-doc-{}", std::process::id()));
    /// let backend = FileLock::open(FileConfig::new(&directory))?;
    /// let locks = Locker::builder(backend).build()?;
    /// assert!(locks.acquire("nightly-report").await?.is_held());
    /// # locks.shutdown(std::time::Duration::from_secs(1)).await?;
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when the path is not absolute or a file, its parent is missing, or its locks are of another layout.
    /// `Denied` when the directory is read-only, another user's, or writable by others. `Unsupported` on a network
    /// file system, `Unavailable` when the system fails.
    pub fn open(config: FileConfig) -> Result<Self> {
        let lifecycle = config
            .check()
            .and_then(|()| Lifecycle::open(config))
            .map_err(|error| error.in_context("connect", errors::BACKEND, None))?;
        Ok(Self {
            lifecycle,
            held_max: Self::held_max(),
        })
    }

    /// Each lock that is held takes a descriptor.
    fn held_max() -> Option<u32> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
        Some(u32::try_from(limit - limit / Self::DESCRIPTORS_LEFT).unwrap_or(u32::MAX))
    }

    pub(crate) fn held(lease: &Lease) -> Result<&Hold> {
        let held = lease.handle::<Arc<Hold>>().map(AsRef::as_ref);
        held.ok_or_else(|| Error::new(ErrorKind::Internal, "this lease is of another backend"))
    }
}

#[async_trait]
impl DistributedLock for FileLock {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: errors::BACKEND,
            modes: Modes::Exclusive,
            fencing: Fencing::Growing,
            order: Order::Unordered,
            waiting: Waiting::Notified,
            expiry: Expiry::Process,
            ttl_min: Self::TTL_MIN,
            ttl_max: Self::TTL_MAX,
            held_max: self.held_max,
            takeover_max: Self::TAKEOVER_MAX,
            restart_guard: Duration::ZERO,
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        acquire::acquire(&self.lifecycle, request).await
    }

    /// Checks that the file is still in place: there is nothing to renew.
    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.lifecycle.check_open()?;
        let sent = lease.sent_now();
        Ok(match (Self::held(lease)?.is_in_place()?, lease.renewal) {
            (false, _) => Renewed::Lost(LostCause::Removed),
            (true, Renewal::None) => lease.renewed(sent, lease.ttl),
            (true, _) => Renewed::Until(Deadline::FOREVER),
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.lifecycle.check_open()?;
        Self::held(lease)?.release();
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        inspect::inspect(&self.lifecycle, name)
    }

    async fn close(&self) -> Result<()> {
        self.lifecycle.close().await;
        Ok(())
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(self)
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        Some(self)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        self.lifecycle.end();
    }
}

impl fmt::Debug for FileLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.lifecycle.config().directory();
        f.debug_struct("FileLock")
            .field("directory", &directory)
            .finish_non_exhaustive()
    }
}
