//! The builder of a locker.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    backend::distributed_lock::DistributedLock,
    base::{
        clock::Clock,
        error::{Error, ErrorKind, Result},
        range::out_of_range,
    },
    client::{locker::Locker, options::check_ttl},
    engine::{
        cleanup::Cleanup,
        local_queue::LocalQueue,
        metrics::Metrics,
        migration_reading::Reading,
        migration_watch::{MigrationWatch, Watched},
        renewals::Renewals,
        scheduler::Scheduler,
        shared::{Shared, UserRef},
    },
};

impl Locker {
    /// Builds a locker over `backend`, which is the locker's own from now on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use std::time::Duration;
    ///
    /// use dlock_core::{Locker, memory::Memory};
    ///
    /// let locks = Locker::builder(Memory::new()).ttl(Duration::from_secs(10)).build()?;
    /// assert!(locks.acquire("seat/14C").await?.is_held());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Clones of a locker share it. A backend cannot be shared, because the end of one locker closes it:
    ///
    /// ```compile_fail,E0277
    /// use std::sync::Arc;
    ///
    /// use dlock_core::{Locker, memory::Memory};
    ///
    /// let _locks = Locker::builder(Arc::new(Memory::new()));
    /// ```
    pub fn builder(backend: impl DistributedLock) -> LockerBuilder {
        LockerBuilder::new(Arc::new(backend))
    }
}

/// Builds a [`Locker`]: the defaults of its acquires, and its clock.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// use std::time::Duration;
///
/// use dlock_core::{Locker, memory::Memory};
///
/// let locks = Locker::builder(Memory::new())
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(60))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct LockerBuilder {
    backend: Arc<dyn DistributedLock>,
    ttl: Duration,
    wait: Option<Duration>,
    token_base: u64,
    clock: Clock,
    migration: Option<Reading>,
}

impl LockerBuilder {
    /// 30 s: three renewals can fail within it, and a dead holder blocks no longer.
    pub(crate) const TTL: Duration = Duration::from_secs(30);

    /// 30 s: as long as a dead holder blocks.
    const WAIT: Duration = Duration::from_secs(30);

    /// 10 s: the default wait goes on for so long after a store that may have forgotten its locks grants
    /// again; waiters that queued in the meantime are served by then.
    const WAIT_PAST_GUARD: Duration = Duration::from_secs(10);

    /// The largest `token_base`: together with the largest token of a store it stays in range.
    pub const TOKEN_BASE_MAX: u64 = 1 << 62;

    fn new(backend: Arc<dyn DistributedLock>) -> Self {
        Self {
            clock: backend.clock(),
            backend,
            ttl: Self::TTL,
            wait: None,
            token_base: 0,
            migration: None,
        }
    }

    /// Watches the record of a migration, which was read before.
    pub(crate) fn watch_migration(mut self, first: Option<Reading>) -> Self {
        self.migration = first;
        self
    }

    /// The ttl of locks for which none is given; 30 s by default.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The default wait of an acquire; zero tries once. By default 30 s, or 10 s more than
    /// [`restart_guard`](crate::Capabilities::restart_guard) if that is longer.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// A number that is added to every token: for a move from a store with larger ones. Zero by default.
    pub fn token_base(mut self, token_base: u64) -> Self {
        self.token_base = token_base;
        self
    }

    /// The clock of all deadlines. By default that of the [backend](DistributedLock::clock): the machine's boot-time
    /// clock, or for [`Memory`](crate::memory::Memory) tokio's, which tests can pause.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the locker, in the current runtime. No I/O.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use std::time::Duration;
    ///
    /// use dlock_core::{Locker, memory::Memory};
    ///
    /// // The settings are checked here, before the first acquire.
    /// let locks = Locker::builder(Memory::new()).ttl(Duration::from_nanos(1));
    /// let error = locks.build().unwrap_err();
    /// assert!(error.to_string().contains("ttl 1ns is out of range"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a default ttl or a token base out of bounds, and outside a tokio runtime.
    pub fn build(self) -> Result<Locker> {
        let Self {
            backend,
            ttl,
            wait,
            token_base,
            clock,
            migration,
        } = self;
        let capabilities = backend.capabilities();
        let invalid = |why: String| {
            Error::new(ErrorKind::InvalidConfig, why).in_context(
                "connect",
                capabilities.backend,
                None,
            )
        };
        check_ttl(ttl, &capabilities).map_err(|error| invalid(error.to_string()))?;
        if token_base > Self::TOKEN_BASE_MAX {
            let allowed = 0..=Self::TOKEN_BASE_MAX;
            return Err(invalid(out_of_range("token_base", token_base, &allowed)));
        }
        if Handle::try_current().is_err() {
            return Err(invalid(
                "a locker is made inside a tokio runtime".to_owned(),
            ));
        }
        let wait = wait.unwrap_or_else(|| match capabilities.restart_guard {
            Duration::ZERO => Self::WAIT,
            guard => Self::WAIT.max(guard.saturating_add(Self::WAIT_PAST_GUARD)),
        });
        let closed = CancellationToken::new();
        let metrics = Arc::new(Metrics::new(capabilities.backend));
        let scheduler = Scheduler::new(clock.clone(), metrics.clone());
        tokio::spawn(scheduler.clone().run());
        let migration = migration.map(|first| {
            let locker = Watched {
                backend: Arc::downgrade(&backend),
                scheduler: scheduler.clone(),
                clock: clock.clone(),
                runtime: Handle::current(),
                token_base,
            };
            MigrationWatch::new(first, locker)
        });
        Ok(Locker(UserRef::new(Arc::new(Shared {
            users: AtomicUsize::new(0),
            cleanup: Cleanup::start(
                backend.clone(),
                clock.clone(),
                metrics.clone(),
                closed.clone(),
            ),
            in_flight: Arc::default(),
            runtime: Handle::current(),
            backend,
            capabilities,
            renewals: Renewals::new(clock.clone()),
            migration,
            clock,
            ttl,
            wait,
            token_base,
            local_queue: LocalQueue::default(),
            scheduler,
            metrics,
            closed,
        }))))
    }
}
