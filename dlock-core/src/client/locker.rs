//! The user's handle to a store of locks.

use std::{fmt, time::Duration};

use tokio::time::timeout;

use crate::{
    backend::{capabilities::Capabilities, holder::Holder},
    base::{
        cause::LostCause,
        error::{Effect, Error, ErrorKind, Result},
        name::LockName,
    },
    client::{
        acquire::{Acquire, TryAcquire},
        acquire_all::AcquireAll,
        guard::Guard,
    },
    engine::{metrics::StoreOp, shared::UserRef},
};

/// Takes locks from one store. Cheap to clone; clones are one locker.
///
/// A locker lives in the tokio runtime that it was made in. There it sends all requests, also for callers
/// from another runtime, renews held locks and releases dropped ones. When that runtime ends, new acquires
/// fail with `Unavailable`, and held locks end by their ttl.
///
/// When the last clone, guard and attempt are dropped, pending releases go on in the background for at
/// most 5 s. Then the backend is closed. [`shutdown`](Self::shutdown) waits for both.
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// let guard = locks.acquire("seat/14C").await?;
/// let other = locks.clone();
/// assert!(other.try_acquire("seat/14C").await?.is_none());
///
/// guard.release().await?;
/// assert!(other.try_acquire("seat/14C").await?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Locker(pub(super) UserRef);

impl Locker {
    /// Takes the lock `name`. If it is taken, waits for at most the locker's default wait.
    ///
    /// ```
    /// # use dlock_core::{memory::Memory, Locker};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
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
    /// `Contended` when the wait is over; `Unavailable` when the store could not be reached;
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

    /// Takes the lock `name` if it is free, else returns `None`. Each call sends a request to the store.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// match locks.try_acquire("nightly-report").await? {
    ///     Some(guard) => {
    ///         println!("this process writes the report");
    ///         guard.release().await?;
    ///     }
    ///     None => println!("another process writes it"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
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
    /// The locks are taken one after the other, sorted by their bytes and without duplicates, so two
    /// callers never wait for each other in a circle. The wait is one limit for all of them.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let accounts = locks.acquire_all(["account/7", "account/3"]).await?;
    /// assert!(accounts.is_held());
    /// accounts.release().await?;
    /// # Ok(())
    /// # }
    /// ```
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
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let sold = locks.scope("seat/14C", async |guard| {
    ///     println!("selling under token {}", guard.token());
    ///     Ok::<_, dlock_core::Error>(1)
    /// }).await?;
    /// assert_eq!(sold, 1);
    /// # Ok(())
    /// # }
    /// ```
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

    /// Returns the holder of the lock `name`, if there is one.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("seat/14C").note("checkout 77").await?;
    /// let holder = locks.inspect("seat/14C").await?.expect("held");
    /// assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    /// assert_eq!(holder.token, Some(guard.token()));
    /// # Ok(())
    /// # }
    /// ```
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
        let (wanted, store) = (name.clone(), self.0.backend.clone());
        let inspecting = async move { store.inspect(&wanted).await };
        let sent = self.0.clock.now();
        let holder = self.0.on_home_runtime(inspecting).await;
        let took = self.0.clock.now().since(sent);
        self.0.metrics.store_took(StoreOp::Inspect, took);
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

    /// Waits until the last user of the locker is gone, its releases are confirmed and its backend is closed.
    #[cfg(feature = "blocking")]
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let cleanup = self.0.cleanup.clone();
        async move { cleanup.ended().await }
    }

    /// The wait of an [`acquire`](Self::acquire) for which none is given.
    #[must_use]
    pub fn default_wait(&self) -> Duration {
        self.0.wait
    }

    /// The properties of the store.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    /// Ends the locker and releases all its locks.
    ///
    /// New and waiting acquires fail with `Unavailable`. Guards are lost, with the cause
    /// [`Closed`](LostCause::Closed). In the end the backend is closed. A second call does nothing.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("seat/14C").await?;
    /// locks.shutdown(Duration::from_secs(5)).await?;
    /// assert!(!guard.is_held());
    /// assert!(locks.acquire("seat/14C").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Unavailable` when that took longer than `timeout_after`: what is not released ends by its
    /// ttl or with its session. An acquire or release that is kept but not polled takes that long.
    ///
    /// # Cancel safety
    ///
    /// All guards are notified and all releases under way after the first poll; dropping the future leaves the rest
    /// to the background, but the backend may not be closed.
    pub async fn shutdown(&self, timeout_after: Duration) -> Result<()> {
        let shared = &self.0;
        let end = shared.clock.now().after(timeout_after);
        shared.closed.cancel();
        if let Some(watch) = &shared.migration {
            watch.stop();
        }
        for hold in shared.scheduler.close() {
            hold.attempt().report_lost(LostCause::Closed);
        }
        let drained = timeout(timeout_after, async {
            // What they were granted too late, or did not release, they hand to the clean-up before they
            // end.
            shared.in_flight.drained().await;
            shared.cleanup.drain().await;
        })
        .await;
        // What is not released by now ends with the backend's sessions.
        shared.cleanup.stop_retries();
        let left = end.since(shared.clock.now()).max(CLOSE_MIN);
        let store = shared.backend.clone();
        let closing = shared.on_home_runtime(async move { store.close().await });
        let closed = timeout(left, closing).await;
        let late = |what| {
            let why = format!("shutdown timed out after {timeout_after:?} while {what}");
            Err(Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown))
        };
        let result = match (drained, closed) {
            (Ok(()), Ok(result)) => result,
            (Err(_), _) => late("releasing locks"),
            (_, Err(_)) => late("closing the backend"),
        };
        result.map_err(|error| error.in_context("close", shared.capabilities.backend, None))
    }
}

/// However long the releases took, the backend has this long to close its connections.
const CLOSE_MIN: Duration = Duration::from_millis(100);

impl fmt::Debug for Locker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locker").field(&self.0).finish()
    }
}
