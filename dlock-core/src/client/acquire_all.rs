//! Several locks as one.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    slice,
    time::Duration,
    vec,
};

use crate::{
    backend::options::Mode,
    base::{
        cause::LostCause,
        error::{Error, Result},
        name::LockName,
    },
    client::{
        guard::Guard,
        options::{Options, WaitFor},
        setters::{setters, wait_setters},
    },
    engine::shared::UserRef,
};

/// An acquire of several locks, all or none: made by
/// [`Locker::acquire_all`](crate::Locker::acquire_all), run by `.await`.
///
/// The first locks are renewed while the later ones are waited for, so renewal cannot be turned off.
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// use std::time::Duration;
///
/// let names = ["account/3", "account/7"];
/// let guards = locks.acquire_all(names).wait(Duration::from_secs(2)).await?;
/// guards.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct AcquireAll {
    options: Options,
    names: Result<Vec<LockName>>,
}

impl AcquireAll {
    pub(crate) fn new(shared: UserRef, names: Result<Vec<LockName>>) -> Self {
        Self {
            options: Options::new(shared),
            names,
        }
    }

    setters!(options);
    wait_setters!(options);

    async fn run(self) -> Result<GuardSet> {
        let Self { options, names } = self;
        let backend = options.shared.capabilities.backend;
        let mut names = names.map_err(|error| options.in_context(error, None))?;
        // One order for all callers: they never wait for each other in a circle.
        names.sort_unstable();
        names.dedup();
        let begun = options.begin(None)?;
        let mut set = GuardSet {
            guards: Vec::with_capacity(names.len()),
        };
        for name in names {
            let next = begun.acquire(name);
            // Dropping the guards on an error releases what was taken.
            let guard = tokio::select! {
                biased;
                guard = next => guard?,
                (name, cause) = set.lost() => {
                    return Err(Error::lost(cause).in_context("acquire", backend, Some(&name)));
                }
            };
            set.guards.push(guard);
        }
        set.check()?;
        Ok(set)
    }
}

impl IntoFuture for AcquireAll {
    type Output = Result<GuardSet>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Several held locks, sorted by name. Dropping the set releases them all in the background.
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// let guards = locks.acquire_all(["account/7", "account/3"]).await?;
/// for guard in &guards {
///     println!("{} is held under token {}", guard.name(), guard.token());
/// }
/// assert!(guards.get("account/3").is_some());
/// guards.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "guards that are dropped release their locks"]
pub struct GuardSet {
    guards: Vec<Guard>,
}

impl GuardSet {
    /// The set of `guards`, which are sorted by name.
    #[cfg(feature = "blocking")]
    pub(crate) fn from_sorted(guards: Vec<Guard>) -> Self {
        Self { guards }
    }

    /// The guards, sorted by name.
    pub fn iter(&self) -> slice::Iter<'_, Guard> {
        self.guards.iter()
    }

    /// The guard of `name`, if it is in the set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Guard> {
        self.guards
            .iter()
            .find(|guard| guard.name().as_str() == name)
    }

    /// Whether all locks are held at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.guards.iter().all(Guard::is_held)
    }

    /// Ends when the first of the locks is lost, with its name and the cause; never on a release.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use dlock_core::{Locker, LostCause, memory::Memory};
    ///
    /// let store = Memory::new();
    /// let locks = Locker::builder(store.clone()).build()?;
    /// let guards = locks.acquire_all(["account/3", "account/7"]).await?;
    /// store.revoke("account/7");
    /// let (name, cause) = guards.lost().await;
    /// assert_eq!((name.as_str(), cause), ("account/7", LostCause::Removed));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn lost(&self) -> (LockName, LostCause) {
        first_lost(self.guards.iter()).await
    }

    /// Releases all locks of the set.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`], of the first that failed; the others are released in the background.
    ///
    /// # Cancel safety
    ///
    /// The releases go on in the background.
    pub async fn release(mut self) -> Result<()> {
        let _in_flight = self.guards.first().map(Guard::track_release);
        // None is renewed while others are released.
        let begun: Vec<_> = self.guards.iter().map(Guard::begin_release).collect();
        for guard in self.guards.drain(..).zip(begun) {
            let (guard, begun) = guard;
            begun?;
            guard.finish_release().await?;
        }
        Ok(())
    }

    /// Fails if one was lost while later ones were waited for.
    fn check(&self) -> Result<()> {
        self.guards.iter().try_for_each(Guard::check)
    }
}

/// Ends when the first of `guards` is lost.
pub(crate) async fn first_lost(
    guards: impl Iterator<Item = &Guard> + Clone,
) -> (LockName, LostCause) {
    let mut lost: Vec<_> = guards.clone().map(Guard::lost).collect();
    std::future::poll_fn(|cx| {
        for (lost, guard) in lost.iter_mut().zip(guards.clone()) {
            if let std::task::Poll::Ready(cause) = Pin::new(lost).poll(cx) {
                return std::task::Poll::Ready((guard.name().clone(), cause));
            }
        }
        std::task::Poll::Pending
    })
    .await
}

/// Takes the set apart: each guard is released by itself.
impl IntoIterator for GuardSet {
    type Item = Guard;
    type IntoIter = vec::IntoIter<Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.guards.into_iter()
    }
}

impl<'a> IntoIterator for &'a GuardSet {
    type Item = &'a Guard;
    type IntoIter = slice::Iter<'a, Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
