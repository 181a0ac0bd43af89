//! An acquire of one lock, before it is awaited.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use crate::{
    backend::options::{Mode, Renewal},
    base::{
        error::{Error, ErrorKind, Result},
        name::LockName,
    },
    client::{
        guard::Guard,
        options::{Options, WaitFor, setters, wait_setters},
    },
    engine::shared::UserRef,
};

/// An acquire that waits: made by [`Locker::acquire`](crate::Locker::acquire), run by `.await`.
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// use std::time::Duration;
///
/// let guard = locks
///     .acquire("seat/14C")
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(2))
///     .note("checkout 77")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct Acquire {
    options: Options,
    name: Result<LockName>,
}

impl Acquire {
    pub(crate) fn new(shared: UserRef, name: Result<LockName>) -> Self {
        Self {
            options: Options::new(shared),
            name,
        }
    }

    setters!();
    wait_setters!();

    /// Turns renewal off: the lock ends after its ttl.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// // Free again after 100 ms, even if the guard is kept.
    /// let ttl = Duration::from_millis(100);
    /// let guard = locks.acquire("report").ttl(ttl).no_renewal().await?;
    /// let next = locks.acquire("report").await?;
    /// assert!(next.is_held() && !guard.is_held());
    /// # Ok(())
    /// # }
    /// ```
    pub fn no_renewal(mut self) -> Self {
        self.options.renewal = Renewal::None;
        self
    }

    /// Takes the lock, runs `body` while it is held, and always releases it.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// use std::time::Duration;
    ///
    /// let acquire = locks.acquire("seat/14C").wait(Duration::from_secs(2));
    /// let token = acquire.scope(async |guard| Ok::<_, dlock_core::Error>(guard.token())).await?;
    /// // The lock is released again.
    /// let next = locks.acquire("seat/14C").await?;
    /// assert!(next.token() > token);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Why the lock was not granted; what `body` failed with; `Lost` when the lock was lost before `body`
    /// ended, which is then dropped at its current await point. Once `body` has ended while the lock was
    /// held, its value is returned: a release that fails goes on in the background.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock in the background.
    pub async fn scope<T, E>(self, body: impl AsyncFnOnce(&Guard) -> Result<T, E>) -> Result<T, E>
    where
        E: From<Error>,
    {
        let guard = self.await?;
        let ended = guard.while_held(body(&guard)).await;
        let released = guard.release().await;
        let value = ended??;
        match released {
            Err(error) if error.kind() == ErrorKind::Lost => Err(error.into()),
            _ => Ok(value),
        }
    }

    async fn run(self) -> Result<Guard> {
        let Self { options, name } = self;
        let backend = options.shared.capabilities.backend;
        let invalid = |error: Error, name| error.in_context("acquire", backend, name);
        let name = name.map_err(|error| invalid(error, None))?;
        options
            .check()
            .map_err(|error| invalid(error, Some(&name)))?;
        let wait = options.wait_for();
        let until = options.until(wait, options.ttl());
        options.acquire(name, wait, until).await
    }
}

impl IntoFuture for Acquire {
    type Output = Result<Guard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// An acquire that does not wait: made by [`Locker::try_acquire`](crate::Locker::try_acquire), run by
/// `.await`.
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// let job = locks.try_acquire("nightly-report").note("cron on web-3");
/// let Some(guard) = job.await? else {
///     println!("another process does it");
///     return Ok(());
/// };
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct TryAcquire(Acquire);

impl TryAcquire {
    pub(crate) fn new(mut acquire: Acquire) -> Self {
        acquire.options.wait = Some(WaitFor::Never);
        Self(acquire)
    }

    /// Sets the ttl, as [`Acquire::ttl`].
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// Takes the lock shared, as [`Acquire::shared`].
    pub fn shared(self) -> Self {
        Self(self.0.shared())
    }

    /// Sets the note, as [`Acquire::note`].
    pub fn note(self, note: &str) -> Self {
        Self(self.0.note(note))
    }

    /// Turns renewal off, as [`Acquire::no_renewal`].
    pub fn no_renewal(self) -> Self {
        Self(self.0.no_renewal())
    }
}

impl IntoFuture for TryAcquire {
    type Output = Result<Option<Guard>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async {
            match self.0.run().await {
                Ok(guard) => Ok(Some(guard)),
                Err(error) if error.kind() == ErrorKind::Contended => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}
