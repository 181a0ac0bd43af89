//! Several locks as one.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
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
        options::{Options, WaitFor, setters, wait_setters},
    },
    engine::shared::UserRef,
};

/// An acquire of several locks, all or none: made by
/// [`Locker::acquire_all`](crate::Locker::acquire_all), run by `.await`.
///
/// They are renewed while the later ones are waited for, so there is no way to turn renewal off.
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

    setters!();
    wait_setters!();

    async fn run(self) -> Result<GuardSet> {
        let Self { options, names } = self;
        let backend = options.shared.capabilities.backend;
        let invalid = |error: Error| error.in_context("acquire", backend, None);
        let mut names = names.map_err(invalid)?;
        options.check().map_err(invalid)?;
        // One order for everybody: callers never wait for each other in a circle.
        names.sort_unstable();
        names.dedup();
        let wait = options.wait_for();
        let until = options.until(wait, options.ttl());
        let mut set = GuardSet {
            guards: Vec::with_capacity(names.len()),
        };
        for name in names {
            let next = options.acquire(name, wait, until);
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

/// Several held locks, sorted by name. Dropping it releases them all in the background.
#[derive(Debug)]
#[must_use = "guards that are dropped release their locks"]
pub struct GuardSet {
    guards: Vec<Guard>,
}

impl GuardSet {
    /// The guards, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Guard> {
        self.guards.iter()
    }

    /// The guard of `name`, if it is one of the set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Guard> {
        self.guards
            .iter()
            .find(|guard| guard.name().as_str() == name)
    }

    /// Whether all are held at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.guards.iter().all(Guard::is_held)
    }

    /// Ends when the first of them is lost, with its name; never on a release.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn lost(&self) -> (LockName, LostCause) {
        let mut lost: Vec<_> = self.guards.iter().map(Guard::lost).collect();
        std::future::poll_fn(|cx| {
            for (lost, guard) in lost.iter_mut().zip(&self.guards) {
                if let std::task::Poll::Ready(cause) = Pin::new(lost).poll(cx) {
                    return std::task::Poll::Ready((guard.name().clone(), cause));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// Releases them all.
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
