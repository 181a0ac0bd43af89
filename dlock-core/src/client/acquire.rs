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
        options::{Options, WaitFor},
        setters::{renewal_setters, setters, wait_setters},
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

    setters!(options);
    wait_setters!(options);
    renewal_setters!(options);

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

    /// The result of the attempt goes through `finish`.
    ///
    /// Not an `async fn`, which would have its arguments twice: this future is allocated for each acquire.
    #[expect(clippy::manual_async_fn, reason = "it is smaller")]
    fn run<T>(
        self,
        finish: impl FnOnce(Result<Guard>) -> Result<T> + Send,
    ) -> impl Future<Output = Result<T>> + Send {
        async move {
            let options = &self.options;
            let name = self.name.map_err(|error| options.in_context(error, None))?;
            let begun = options.begin(Some(&name))?;
            finish(begun.acquire(name).await)
        }
    }
}

impl IntoFuture for Acquire {
    type Output = Result<Guard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(|result| result))
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
pub struct TryAcquire {
    acquire: Acquire,
}

impl TryAcquire {
    pub(crate) fn new(mut acquire: Acquire) -> Self {
        acquire.options.wait = Some(WaitFor::Never);
        Self { acquire }
    }

    setters!(acquire.options);
    renewal_setters!(acquire.options);
}

impl IntoFuture for TryAcquire {
    type Output = Result<Option<Guard>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.acquire.run(|result| match result {
            Ok(guard) => Ok(Some(guard)),
            Err(error) if error.kind() == ErrorKind::Contended => Ok(None),
            Err(error) => Err(error),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Locker, memory::Memory};

    /// In bytes. For anything larger glibc joins its small free pieces of memory, and then searches.
    const SIZE_MAX: usize = 1000;

    #[tokio::test]
    async fn the_futures_of_acquires_are_small() {
        let locks = Locker::builder(Memory::new()).build().expect("allowed");
        let acquire = locks.acquire("a").into_future();
        assert!(size_of_val(&*acquire) <= SIZE_MAX);
        let tried = locks.try_acquire("a").into_future();
        assert!(size_of_val(&*tried) <= SIZE_MAX);
    }
}
