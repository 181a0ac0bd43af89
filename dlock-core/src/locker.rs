//! The user's handle to a store of locks.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    builder::{Acquire, TryAcquire, check_ttl},
    capabilities::Capabilities,
    cause::LostCause,
    clock::Clock,
    core::{Core, User},
    error::{Effect, Error, ErrorKind, Result},
    gate::Gate,
    guard::Guard,
    holder::Holder,
    lock::DistributedLock,
    meters::Meters,
    multi::AcquireAll,
    name::LockName,
    reaper::Reaper,
    renewal::Schedule,
};

/// Takes locks from one store. Cheap to clone; clones are one locker.
///
/// It lives in the tokio runtime that it was made in: there it asks the store, also for those who call
/// from another one, renews what is held and releases what is dropped. When that runtime ends, it grants
/// nothing more (`Unavailable`), and what was held ends by its ttl.
///
/// When the last locker, guard and attempt are gone, what is still to be released is, for 5 s at the most,
/// and the backend is closed, in the background; [`shutdown`](Self::shutdown) waits for that.
#[derive(Clone)]
pub struct Locker(User);

impl Locker {
    /// A locker over `backend`, which must have no other locker.
    pub fn builder(backend: Arc<dyn DistributedLock>) -> LockerBuilder {
        LockerBuilder::new(backend)
    }

    /// Takes the lock `name`, waiting for it as long as the locker's default says.
    ///
    /// ```
    /// # use dlock_core::{Locker, Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = Locker::builder(std::sync::Arc::new(Memory::new())).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("seat/14C").wait(Duration::from_secs(2)).note("checkout 77").await?;
    /// println!("sold under token {}", guard.token());
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Contended` when the wait is over; `Unavailable` when the store could not be asked;
    /// `InvalidInput` for a name, ttl or note that is not allowed; `Unsupported` for a mode that the
    /// store does not have; others as the store says.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future at any point leaves nothing held or queued, after a clean-up in the
    /// background, and gives up the place in the queue. One that is kept but not polled keeps its
    /// turn from the others.
    pub fn acquire<N>(&self, name: N) -> Acquire
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        Acquire::new(self.0.clone(), name.try_into().map_err(Error::from))
    }

    /// Takes the lock `name` if it is free: `None` when it is taken. The store is always asked.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), without `Contended`.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire<N>(&self, name: N) -> TryAcquire
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        TryAcquire::new(self.acquire(name))
    }

    /// Takes all of `names`, or none.
    ///
    /// They are taken one after the other, sorted by their bytes and without doubles, so that two
    /// callers never wait for each other in a circle. The wait is one limit for all of them.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), for the first that could not be had; `Lost` when one that was
    /// taken was lost before all were.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire), for all of them.
    pub fn acquire_all<N>(&self, names: impl IntoIterator<Item = N>) -> AcquireAll
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        let names = names
            .into_iter()
            .map(|name| name.try_into().map_err(Error::from));
        AcquireAll::new(self.0.clone(), names.collect())
    }

    /// Takes the lock `name`, runs `body` while it is held, and releases it: see [`Acquire::scope`].
    ///
    /// # Errors
    ///
    /// As [`Acquire::scope`].
    ///
    /// # Cancel safety
    ///
    /// As [`Acquire::scope`].
    pub async fn scope<N, T, E>(
        &self,
        name: N,
        body: impl AsyncFnOnce(&Guard) -> Result<T, E>,
    ) -> Result<T, E>
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
        E: From<Error>,
    {
        self.acquire(name).scope(body).await
    }

    /// Says who holds the lock `name`, if anybody does.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a name that is not allowed; `Unavailable` and others as the store says.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn inspect<N>(&self, name: N) -> Result<Option<Holder>>
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        let backend = self.0.capabilities.backend;
        let name = name.try_into().map_err(Error::from);
        let name = name.map_err(|error| error.in_context("inspect", backend, None))?;
        let (asked, store) = (name.clone(), self.0.backend.clone());
        let looking = async move { store.inspect(&asked).await };
        let holder = self.0.at_home(looking).await;
        let mut holder =
            holder.map_err(|error| error.in_context("inspect", backend, Some(&name)))?;
        if let Some(Holder {
            token: Some(token), ..
        }) = &mut holder
        {
            *token = token.with_base(self.0.token_base).unwrap_or(*token);
        }
        Ok(holder)
    }

    /// What the store can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    /// Ends the locker: refuses new acquires, ends waiting ones with `Unavailable`, tells guards that
    /// they are lost ([`Closed`](LostCause::Closed)), releases everything and closes the backend.
    /// The second time it finds nothing to do.
    ///
    /// # Errors
    ///
    /// `Unavailable` when that took longer than `timeout_after`: what the store was not told of ends by its
    /// ttl or with its session. An acquire or release that is kept but not polled takes that long.
    ///
    /// # Cancel safety
    ///
    /// Everything is told and under way after the first poll; dropping the future leaves the rest
    /// to the background, but the backend may not be closed.
    pub async fn shutdown(&self, timeout_after: Duration) -> Result<()> {
        let core = &self.0;
        let end = core.clock.now().after(timeout_after);
        core.closed.cancel();
        for hold in core.schedule.close() {
            hold.lease.attempt.report_lost(LostCause::Closed);
        }
        let drained = timeout(timeout_after, async {
            // What they were granted too late, or did not release, is told to the reaper before they
            // land.
            core.flights.all_landed().await;
            core.reaper.drain().await;
        })
        .await;
        // What is not released by now ends with the backend's sessions.
        core.reaper.give_up();
        let left = end.since(core.clock.now()).max(CLOSE_MIN);
        let store = core.backend.clone();
        let closing = core.at_home(async move { store.close().await });
        let closed = timeout(left, closing).await;
        let late = |what| {
            let why = format!("{what} took longer than {timeout_after:?}");
            Err(Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown))
        };
        let result = match (drained, closed) {
            (Ok(()), Ok(result)) => result,
            (Err(_), _) => late("releasing what was held"),
            (_, Err(_)) => late("closing"),
        };
        result.map_err(|error| error.in_context("close", core.capabilities.backend, None))
    }
}

/// However long the releases took, the backend has this long to close its connections.
const CLOSE_MIN: Duration = Duration::from_millis(100);

impl fmt::Debug for Locker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locker").field(&self.0).finish()
    }
}

/// Makes a [`Locker`].
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct LockerBuilder {
    backend: Arc<dyn DistributedLock>,
    ttl: Duration,
    wait: Option<Duration>,
    token_base: u64,
    clock: Clock,
}

impl LockerBuilder {
    /// 30 s: three renewals can fail within it, and a dead holder blocks no longer.
    pub(crate) const TTL: Duration = Duration::from_secs(30);

    /// 30 s: as long as a dead holder blocks.
    const WAIT: Duration = Duration::from_secs(30);

    /// 10 s: a wait that nobody set goes on for so long after a store that may have forgotten its locks
    /// grants again; who began to wait meanwhile are served by then.
    const WAIT_PAST_GUARD: Duration = Duration::from_secs(10);

    /// The largest `token_base`: together with the largest token of a store it stays in range.
    pub const TOKEN_BASE_MAX: u64 = 1 << 62;

    fn new(backend: Arc<dyn DistributedLock>) -> Self {
        let clock = Clock::boottime();
        Self {
            backend,
            ttl: Self::TTL,
            wait: None,
            token_base: 0,
            clock,
        }
    }

    /// The ttl of locks for which none is given; 30 s by default.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long an acquire waits that does not say; zero asks once. By default 30 s, or 10 s more than
    /// [`restart_guard`](Capabilities::restart_guard) if that is longer.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Is added to every token: for a move from a store whose tokens were larger. Zero by default.
    pub fn token_base(mut self, token_base: u64) -> Self {
        self.token_base = token_base;
        self
    }

    /// Where time is read; the machine's boot-time clock by default. Tests that pause tokio's clock
    /// give a [pausable](Clock::pausable) one, here and to the backend.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the locker, in the current runtime. No I/O.
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
            let max = Self::TOKEN_BASE_MAX;
            return Err(invalid(format!(
                "a token_base of {token_base} is not allowed, 0 to {max} is"
            )));
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
        let schedule = Schedule::new(clock.clone());
        tokio::spawn(schedule.clone().run());
        Ok(Locker(User::new(Arc::new(Core {
            users: AtomicUsize::new(0),
            reaper: Reaper::start(backend.clone(), closed.clone()),
            flights: Arc::default(),
            runtime: Handle::current(),
            backend,
            capabilities,
            clock,
            ttl,
            wait,
            token_base,
            gate: Gate::default(),
            schedule,
            meters: Meters::new(capabilities.backend),
            closed,
        }))))
    }
}
