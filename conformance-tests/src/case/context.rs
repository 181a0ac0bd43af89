//! The context of a case: clients of its own address, names of its own, and bounds.

use std::{fmt::Display, future::Future, mem, sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Capabilities, Clock, ErrorKind, Guard, LockName, Locker, backend::DistributedLock,
    toolkit::Lock,
};
use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Failed;
use tokio::{runtime::Handle, sync::OnceCell, time::timeout};

use super::interpose::{Interpose, Interposed};
use crate::target::{Backdoor, Extra, Link, TTL_DEDICATED, Target};

/// How often a store is polled for what is left in it.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A case takes one of this many parts of what a backend can hold: cases run at once, and what bounds
/// one client may bound the process.
const HELD_SHARES: u32 = 4;

pub(crate) struct CaseContext {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) address: String,
    placement: Placement,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    /// Makes the names of this run different from those of every other one.
    run: String,
    /// All that were made, to be shut down at the end.
    lockers: Lock<Vec<Locker>>,
    /// They are healed before the lockers end, and end after them.
    links: Lock<Vec<Arc<Link>>>,
    observer: OnceCell<Locker>,
}

/// Where in the store a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Beside others, which it does not disturb.
    Shared,
    /// In a store that it may take down.
    Dedicated,
}

impl CaseContext {
    /// A context at `address`, which no other one has.
    pub(crate) fn new(target: Arc<dyn Target>, address: String, placement: Placement) -> Self {
        Self {
            address,
            placement,
            capabilities: target.capabilities(),
            clock: Clock::boottime(),
            run: format!("{:016x}", rand::random::<u64>()),
            lockers: Lock::default(),
            links: Lock::default(),
            observer: OnceCell::new(),
            target,
        }
    }

    /// A lock name that no other case and no other run uses.
    pub(crate) fn name(&self, what: &str) -> Outcome<LockName> {
        Ok(LockName::new(&format!("{}/{what}", self.run))?)
    }

    /// A new client of the store, without a locker.
    pub(crate) async fn backend(&self) -> Outcome<Arc<dyn DistributedLock>> {
        Ok(self.target.connect(&self.address).await?)
    }

    /// A line to the store that can fail; for cases that need one.
    pub(crate) async fn link(&self) -> Outcome<Arc<Link>> {
        let link = Arc::new(self.target.link(&self.address).await?);
        self.links.lock().push(link.clone());
        Ok(link)
    }

    /// Whether there is such a line.
    pub(crate) fn has_link(&self) -> bool {
        self.target.extras().contains(&Extra::Link)
    }

    /// A new client of the store over that line, without a locker.
    pub(crate) async fn backend_over_link(&self, link: &Link) -> Outcome<Arc<dyn DistributedLock>> {
        Ok(self.target.connect(&link.address).await?)
    }

    /// A new client of the store over that line.
    pub(crate) async fn locker_over_link(&self, link: &Link) -> Outcome<Locker> {
        self.locker_of(self.backend_over_link(link).await?)
    }

    /// A new client of the store.
    pub(crate) async fn locker(&self) -> Outcome<Locker> {
        self.locker_of(self.backend().await?)
    }

    /// A new client of the store, with `by` between its locker and its backend.
    pub(crate) async fn locker_over(&self, by: &Arc<impl Interpose>) -> Outcome<Locker> {
        let backend = Interposed::new(self.backend().await?, by.clone());
        self.locker_of(Arc::new(backend))
    }

    /// A locker over a client that the case made itself.
    pub(crate) fn locker_of(&self, backend: Arc<dyn DistributedLock>) -> Outcome<Locker> {
        let ttl = match self.placement {
            Placement::Shared => self.ttl_long(),
            Placement::Dedicated => self.ttl_dedicated(),
        };
        let locker = Locker::builder(backend).ttl(ttl).build()?;
        self.lockers.lock().push(locker.clone());
        Ok(locker)
    }

    /// The client that observes locks from outside; one for the whole case.
    pub(crate) async fn observer(&self) -> Outcome<&Locker> {
        self.observer.get_or_try_init(|| self.locker()).await
    }

    /// The way into the store behind the backend's back; for cases that need it.
    pub(crate) fn backdoor(&self) -> Outcome<&dyn Backdoor> {
        self.target
            .backdoor()
            .ok_or_else(|| Failed::from("the target has no backdoor"))
    }

    /// A ttl to wait out: as short as the store allows, but long enough that a busy machine renews
    /// in time.
    pub(crate) fn ttl_short(&self) -> Duration {
        self.ttl(Duration::from_millis(1_500))
    }

    /// A ttl of which a busy machine cannot eat the half.
    pub(crate) fn ttl_middle(&self) -> Duration {
        self.ttl(Duration::from_secs(8))
    }

    /// A ttl that no case lives to see the end of: what is free before it was not freed by time.
    pub(crate) fn ttl_long(&self) -> Duration {
        self.ttl(Duration::from_secs(120))
    }

    /// The ttl of cases that are alone: a few renewals long, and longer than a store takes to start again.
    pub(crate) fn ttl_dedicated(&self) -> Duration {
        self.ttl(TTL_DEDICATED)
    }

    /// The ttl that is closest to what is wanted.
    pub(crate) fn ttl(&self, wanted: Duration) -> Duration {
        wanted.clamp(self.capabilities.ttl_min, self.capabilities.ttl_max)
    }

    /// Until when `guard` says that it is held: not later than it is.
    pub(crate) fn deadline_at_least(&self, guard: &Guard) -> BootInstant {
        let now = self.clock.now();
        now.after(guard.remaining())
    }

    /// Until when `guard` says that it is held: not earlier than it is.
    pub(crate) fn deadline_at_most(&self, guard: &Guard) -> BootInstant {
        let remaining = guard.remaining();
        self.clock.now().after(remaining)
    }

    pub(crate) fn tolerance(&self) -> Duration {
        self.target.tolerance()
    }

    /// How many locks a case may hold at once.
    pub(crate) fn held_share(&self) -> usize {
        let max = self.capabilities.held_max;
        max.map_or(usize::MAX, |max| (max / HELD_SHARES).max(1) as usize)
    }

    /// When a lock is free at the latest whose holder died while it had `ttl` left (K6).
    pub(crate) fn takeover(&self, ttl: Duration) -> Duration {
        ttl + self.capabilities.takeover_max
    }

    /// Awaits `future` for `bound` and the tolerance, or fails with what was waited for.
    pub(crate) async fn within<T>(
        &self,
        bound: Duration,
        what: impl Display,
        future: impl IntoFuture<Output = T>,
    ) -> Outcome<T> {
        let bound = bound + self.tolerance();
        let late = |_| Failed::from(format!("not within {bound:?}: {what}"));
        timeout(bound, future).await.map_err(late)
    }

    /// As [`within`](Self::within), right away: with the tolerance as the only bound.
    pub(crate) async fn soon<T>(
        &self,
        what: impl Display,
        future: impl IntoFuture<Output = T>,
    ) -> Outcome<T> {
        self.within(Duration::ZERO, what, future).await
    }

    /// Fails unless another client finds `name` taken.
    pub(crate) async fn expect_taken(&self, name: &LockName) -> Outcome {
        let guard = self.observer().await?.try_acquire(name).await?;
        ensure!(guard.is_none(), "{name:?} is free, but somebody holds it");
        Ok(())
    }

    /// Fails unless another client finds `name` free right now.
    pub(crate) async fn expect_free(&self, name: &LockName) -> Outcome {
        let guard = self.observer().await?.try_acquire(name).await?;
        let guard = guard.ok_or_else(|| format!("{name:?} is taken, but nobody holds it"))?;
        Ok(guard.release().await?)
    }

    /// Fails unless another client gets `name` within the tolerance: what a bounded clean-up in the
    /// background may take, and far less than [`ttl_long`](Self::ttl_long).
    pub(crate) async fn expect_free_soon(&self, name: &LockName) -> Outcome {
        Ok(self.take(name, Duration::ZERO).await?.release().await?)
    }

    /// The guard that another client gets for `name` within `bound` and the tolerance.
    pub(crate) async fn take(&self, name: &LockName, bound: Duration) -> Outcome<Guard> {
        let observer = self.observer().await?;
        match observer.acquire(name).wait(bound + self.tolerance()).await {
            Err(error) if error.kind() == ErrorKind::Contended => {
                let holder = observer.inspect(name).await?;
                Err(
                    format!("{name:?} is still taken after {bound:?} and tolerance: {holder:?}")
                        .into(),
                )
            }
            other => Ok(other?),
        }
    }

    /// Ends all clients; fails if anything is left of them (K12).
    pub(crate) async fn finish(self) -> Outcome {
        let bound = self.tolerance();
        // The residue of a killed process expires.
        let settled = self.takeover(self.ttl_short()) + bound;
        drop(self.observer);
        let links = mem::take(&mut *self.links.lock());
        for link in &links {
            link.heal();
        }
        let lockers = mem::take(&mut *self.lockers.lock());
        for locker in lockers {
            locker.shutdown(bound).await?;
        }
        drop(links);
        // The residue of a killed process expires.
        if let Some(backdoor) = self.target.backdoor() {
            settle(settled, || async {
                Ok(backdoor.residue(&self.address).await?)
            })
            .await?;
        }
        settle(settled, || async {
            let tasks = Handle::current().metrics().num_alive_tasks();
            Ok((tasks > 0)
                .then(|| format!("{tasks} tasks of the runtime"))
                .into_iter()
                .collect())
        })
        .await
    }
}

/// Looks until nothing is left, for `bound` at most.
async fn settle<F: Future<Output = Outcome<Vec<String>>>>(
    bound: Duration,
    look: impl Fn() -> F,
) -> Outcome {
    let clock = Clock::boottime();
    let end = clock.now().after(bound);
    loop {
        let left = look().await?;
        if left.is_empty() {
            return Ok(());
        }
        ensure!(clock.now() < end, "left behind (K12): {}", left.join(", "));
        tokio::time::sleep(POLL_EVERY).await;
    }
}
