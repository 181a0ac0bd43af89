//! Several locks as one.

use std::{
    future::{Future, IntoFuture, poll_fn},
    pin::{Pin, pin},
    slice,
    task::Poll,
    time::Duration,
    vec,
};

use crate::{
    backend::options::Mode,
    base::{
        cause::LostCause,
        error::{Error, ErrorKind, Result},
        name::LockName,
        range::out_of_range,
    },
    client::{
        guard::Guard,
        options::{Begun, Options, WaitFor},
        setters::{setters, wait_setters},
    },
    engine::shared::UserRef,
};

/// An acquire of several locks, all or none, or as many as [are needed](Self::need): made by
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
    /// `None` for all of them.
    need: Option<usize>,
}

impl AcquireAll {
    pub(crate) fn new(shared: UserRef, names: Result<Vec<LockName>>) -> Self {
        Self {
            options: Options::new(shared),
            names,
            need: None,
        }
    }

    setters!(options);
    wait_setters!(options);

    /// Sets how many of the locks are enough: 1 to the number of different names, which is the default. Without names it is
    /// 0.
    ///
    /// In the order of their names each lock is taken that is free. As many as may be missing are passed over when they
    /// are taken or not answered for, and later ones are waited for. Without an answer each takes up to a ttl. The set
    /// then counts as held while so many of its locks are.
    ///
    /// Two callers with the same names exclude each other if each needs more than half of them.
    ///
    /// ```
    /// # use dlock_core::{Locker, memory::Memory};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// # let locks = Locker::builder(Memory::new()).build()?;
    /// let busy = locks.acquire("slot/2").await?;
    /// let slots = locks.acquire_all(["slot/1", "slot/2", "slot/3"]).need(2).await?;
    /// assert!(slots.get("slot/2").is_none());
    /// assert!(slots.is_held());
    /// # Ok(())
    /// # }
    /// ```
    pub fn need(mut self, need: usize) -> Self {
        self.need = Some(need);
        self
    }

    async fn run(self) -> Result<GuardSet> {
        let Self {
            options,
            names,
            need,
        } = self;
        let mut names = names.map_err(|error| options.in_context(error, None))?;
        // One order for all callers: they never wait for each other in a circle.
        names.sort_unstable();
        names.dedup();
        let need = check_need(need.unwrap_or(names.len()), names.len())
            .map_err(|error| options.in_context(error, None))?;
        let begun = options.begin(None)?;
        let mut growing = Growing {
            backend: begun.backend(),
            spare: names.len() - need,
            set: GuardSet {
                guards: Vec::with_capacity(names.len()),
                need,
            },
        };
        // Dropping the guards on an error releases what was taken.
        for name in names {
            growing.take(&begun, name).await?;
        }
        growing.set.check()?;
        Ok(growing.set)
    }
}

fn check_need(need: usize, names: usize) -> Result<usize> {
    let allowed = 1..=names;
    if need == names || allowed.contains(&need) {
        return Ok(need);
    }
    let why = out_of_range("need", need, &allowed);
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// Whether a lock that fails with `error` may be passed over. A name or a setting that is wrong stays wrong.
fn may_be_missing(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Contended | ErrorKind::Unavailable | ErrorKind::Lost
    )
}

/// A set that is being taken.
struct Growing {
    set: GuardSet,
    backend: &'static str,
    /// How many of the locks may still be missing.
    spare: usize,
}

impl Growing {
    /// Takes `name`, or passes it over.
    async fn take(&mut self, begun: &Begun<'_>, name: LockName) -> Result<()> {
        loop {
            let may_skip = self.spare > 0;
            let taken = match may_skip {
                true => self.keep_while(begun.try_acquire(name.clone())).await?,
                false => self.keep_while(begun.acquire(name.clone())).await?,
            };
            match taken {
                Ok(guard) => self.set.guards.push(guard),
                Err(error) if self.spare > 0 && may_be_missing(&error) => self.spare -= 1,
                // Another one was lost in the meantime, so this one is needed.
                Err(error) if may_skip && may_be_missing(&error) => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Awaits `next`, while no more locks are lost than may be missing.
    async fn keep_while(
        &mut self,
        next: impl Future<Output = Result<Guard>>,
    ) -> Result<Result<Guard>> {
        let mut next = pin!(next);
        loop {
            let (name, cause) = tokio::select! {
                biased;
                taken = &mut next => return Ok(taken),
                lost = lost_below(self.set.guards.iter(), self.set.guards.len()) => lost,
            };
            if self.spare == 0 {
                return Err(Error::lost(cause).in_context("acquire", self.backend, Some(&name)));
            }
            self.spare -= 1;
            self.set.guards.retain(|guard| *guard.name() != name);
        }
    }
}

impl IntoFuture for AcquireAll {
    type Output = Result<GuardSet>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Several held locks, sorted by name: all of the names, or at least as many as were
/// [needed](AcquireAll::need). Dropping the set releases them all in the background.
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
    need: usize,
}

impl GuardSet {
    /// The set of `guards`, which are sorted by name.
    #[cfg(feature = "blocking")]
    pub(crate) fn from_sorted(guards: Vec<Guard>, need: usize) -> Self {
        Self { guards, need }
    }

    /// How many of the locks are enough.
    #[cfg(feature = "blocking")]
    pub(crate) fn need(&self) -> usize {
        self.need
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

    /// Whether as many locks are held at this moment as are needed: all, or those of [`need`](AcquireAll::need).
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.check().is_ok()
    }

    /// Ends when fewer locks are held than are needed, with the name and the cause of the last loss; never on a
    /// release. Without [`need`](AcquireAll::need) that is the first loss.
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
        lost_below(self.guards.iter(), self.need).await
    }

    /// Releases all locks of the set.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`], of the first that failed; the others are released in the background. Losses that leave
    /// as many as are needed are no errors.
    ///
    /// # Cancel safety
    ///
    /// The releases go on in the background.
    pub async fn release(mut self) -> Result<()> {
        let _in_flight = self.guards.first().map(Guard::track_release);
        // None is renewed while others are released.
        let begun: Vec<_> = self.guards.iter().map(Guard::begin_release).collect();
        let are_enough = begun.iter().filter(|begun| begun.is_ok()).count() >= self.need;
        for (guard, begun) in self.guards.drain(..).zip(begun) {
            match begun {
                Ok(()) => guard.finish_release().await?,
                Err(_) if are_enough => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fails if fewer are held than are needed.
    fn check(&self) -> Result<()> {
        check(self.guards.iter().map(Guard::check), self.need)
    }
}

/// Fails with the first loss if fewer than `need` of the guards are held, of which each has one of `checks`.
pub(crate) fn check(checks: impl Iterator<Item = Result<()>>, need: usize) -> Result<()> {
    let (mut held, mut first) = (0, Ok(()));
    for check in checks {
        match check {
            Ok(()) => held += 1,
            lost => first = first.and(lost),
        }
    }
    if held >= need { Ok(()) } else { first }
}

/// Ends when fewer than `need` of `guards` are held, with the last loss.
pub(crate) async fn lost_below<'a>(
    guards: impl Iterator<Item = &'a Guard>,
    need: usize,
) -> (LockName, LostCause) {
    let mut held: Vec<_> = guards.map(|guard| (guard.name(), guard.lost())).collect();
    poll_fn(|cx| {
        let mut index = 0;
        while index < held.len() {
            match Pin::new(&mut held[index].1).poll(cx) {
                Poll::Pending => index += 1,
                Poll::Ready(cause) => {
                    let (name, _) = held.swap_remove(index);
                    if held.len() < need {
                        return Poll::Ready((name.clone(), cause));
                    }
                }
            }
        }
        Poll::Pending
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
