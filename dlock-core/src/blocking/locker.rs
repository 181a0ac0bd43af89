//! The handle to a store of locks, for programs without a runtime.

use std::{fmt, future::Future, time::Duration};

use super::{
    acquire::{Acquire, TryAcquire},
    acquire_all::AcquireAll,
    guard::Guard,
    handle::Handle,
    runtime::Runtime,
};
use crate::{
    backend::{capabilities::Capabilities, holder::Holder},
    base::{
        error::{Error, Result},
        name::LockName,
    },
    client::locker as client,
    config::{Config, Registry},
};

/// Takes locks from one store, and blocks. Cheap to clone; clones are one locker, with one thread.
///
/// Any thread may use it. When the last clone, guard and acquire are dropped, the drop waits until all releases are
/// confirmed and the backend is closed, for [`LAST_DROP_MAX`](super::LAST_DROP_MAX) at most.
///
/// ```
/// # use dlock_core::{blocking, memory::Memory};
/// # fn main() -> dlock_core::Result<()> {
/// # let locks = blocking::Locker::builder(Memory::new()).build()?;
/// let guard = locks.acquire("seat/14C").lock()?;
/// let other = locks.clone();
/// std::thread::spawn(move || other.try_acquire("seat/14C").lock().map(|guard| guard.is_none()));
///
/// guard.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Locker {
    pub(super) locker: Handle<client::Locker>,
}

impl Locker {
    /// Opens the store that `config` names, a URL or a [`Config`], by one of the backends of `registry`.
    ///
    /// The facade `dlock` has a registry of all stores, and `dlock::blocking::connect(url)`.
    ///
    /// ```
    /// # use dlock_core::memory::Memory;
    /// # fn main() -> dlock_core::Result<()> {
    /// use dlock_core::{blocking::Locker, config::Registry};
    ///
    /// let registry = Registry::new()
    ///     .register("table", |_| Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) })));
    /// let locks = Locker::connect(&registry, "table:?ttl=10s")?;
    /// assert!(locks.acquire("seat/14C").lock()?.is_held());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Registry::connect`]; `Unavailable` also when the locker's thread cannot be started.
    ///
    /// # Blocking
    ///
    /// For as long as the backend takes to connect; backends on a network have a timeout for that.
    pub fn connect<C>(registry: &Registry, config: C) -> Result<Self>
    where
        C: TryInto<Config>,
        Error: From<C::Error>,
    {
        let config = config.try_into()?;
        Self::from_future(registry.connect(&config))
    }

    /// Runs `connecting` in this thread, inside the runtime of a new locker thread, and wraps the locker that it
    /// returns.
    ///
    /// `connecting` makes the locker: one that lives in another runtime works only while that runtime is driven.
    /// `connecting` keeps no clone of it either: dropping the last blocking handle would wait in vain for its end.
    ///
    /// ```
    /// use dlock_core::{blocking, memory::Memory};
    ///
    /// # async fn connect() -> dlock_core::Result<Memory> { Ok(Memory::new()) }
    /// # fn main() -> dlock_core::Result<()> {
    /// let locks = blocking::Locker::from_future(async {
    ///     let backend = connect().await?;
    ///     dlock_core::Locker::builder(backend).build()
    /// })?;
    /// assert!(locks.acquire("seat/14C").lock()?.is_held());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `connecting`; `Unavailable` when the locker's thread cannot be started.
    ///
    /// # Blocking
    ///
    /// For as long as `connecting` takes.
    pub fn from_future(connecting: impl Future<Output = Result<client::Locker>>) -> Result<Self> {
        let starting = Runtime::start()?;
        let locker = starting.runtime.block_on(connecting)?;
        let runtime = starting.keep_until(locker.ended());
        let locker = Handle::new(locker, runtime);
        Ok(Self { locker })
    }

    /// Begins to take the lock `name`. [`lock`](Acquire::lock) blocks until it is granted, for at most the locker's
    /// default wait.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("seat/14C").wait(Duration::from_secs(2)).note("checkout 77").lock()?;
    /// println!("sold under token {}", guard.token());
    /// guard.release()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire<N>(&self, name: N) -> Acquire
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        Acquire::new(self.locker.acquire(name), self.locker.runtime().clone())
    }

    /// Begins to take the lock `name` if it is free. [`lock`](TryAcquire::lock) sends the request to the store.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// match locks.try_acquire("nightly-report").lock()? {
    ///     Some(guard) => {
    ///         println!("this process writes the report");
    ///         guard.release()?;
    ///     }
    ///     None => println!("another process writes it"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_acquire<N>(&self, name: N) -> TryAcquire
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        TryAcquire::new(self.locker.try_acquire(name), self.locker.runtime().clone())
    }

    /// Begins to take all of `names`, or none. [`lock`](AcquireAll::lock) blocks until all are granted.
    ///
    /// As in [the async one](crate::Locker::acquire_all), the locks are taken in one order, so two callers never wait
    /// for each other in a circle.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let accounts = locks.acquire_all(["account/7", "account/3"]).lock()?;
    /// assert!(accounts.is_held());
    /// accounts.release()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire_all<N>(&self, names: impl IntoIterator<Item = N>) -> AcquireAll
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        AcquireAll::new(
            self.locker.acquire_all(names),
            self.locker.runtime().clone(),
        )
    }

    /// Takes the lock `name`, runs `body`, and releases the lock, also when `body` panics: see [`Acquire::scope`].
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let sold = locks.scope("seat/14C", |guard| {
    ///     println!("selling under token {}", guard.token());
    ///     Ok::<_, dlock_core::Error>(1)
    /// })?;
    /// assert_eq!(sold, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Acquire::scope`].
    ///
    /// # Blocking
    ///
    /// As [`Acquire::scope`].
    pub fn scope<N, T, E>(&self, name: N, body: impl FnOnce(&Guard) -> Result<T, E>) -> Result<T, E>
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
        E: From<Error>,
    {
        self.acquire(name).scope(body)
    }

    /// Returns the holder of the lock `name`, if there is one.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("seat/14C").note("checkout 77").lock()?;
    /// let holder = locks.inspect("seat/14C")?.expect("held");
    /// assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    /// assert_eq!(holder.token, Some(guard.token()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Locker::inspect`](crate::Locker::inspect).
    ///
    /// # Blocking
    ///
    /// For one request to the store, by the timeouts of the backend.
    pub fn inspect<N>(&self, name: N) -> Result<Option<Holder>>
    where
        N: TryInto<LockName>,
        Error: From<N::Error>,
    {
        self.locker.runtime().block_on(self.locker.inspect(name))
    }

    /// The properties of the store.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.locker.capabilities()
    }

    /// Ends the locker and releases all its locks, as [the async one](crate::Locker::shutdown).
    ///
    /// Acquires that block in other threads fail with `Unavailable`. Guards are lost, with the cause
    /// [`Closed`](crate::LostCause::Closed). A second call does nothing.
    ///
    /// ```
    /// # use dlock_core::{blocking, memory::Memory};
    /// # fn main() -> dlock_core::Result<()> {
    /// # let locks = blocking::Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let guard = locks.acquire("seat/14C").lock()?;
    /// locks.shutdown(Duration::from_secs(5))?;
    /// assert!(!guard.is_held());
    /// assert!(locks.acquire("seat/14C").lock().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Unavailable` when that took longer than `timeout_after`: locks that are not released end by their ttl or with
    /// their session.
    ///
    /// # Blocking
    ///
    /// For `timeout_after` at most, and 100 ms for the backend to close.
    pub fn shutdown(&self, timeout_after: Duration) -> Result<()> {
        self.locker
            .runtime()
            .block_on(self.locker.shutdown(timeout_after))
    }
}

impl fmt::Debug for Locker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.locker, f)
    }
}
