//! The context of a case: clients of its own address, names of its own, and bounds.

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Capabilities, Clock, Expiry, Guard, LockName, Locker, Result,
    backend::DistributedLock,
};
use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Failed;
use tokio::{runtime::Handle, sync::OnceCell, task::JoinHandle};

use super::{
    interpose::{Interpose, Interposed},
    interposers::StalledRenewals,
    opened::Opened,
    violated::Violated,
};
use crate::target::{Backdoor, Extra, Link, Load, TTL_DEDICATED, Target};

/// How often a store is polled for what is left in it.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A case may hold this fraction of the backend's maximum: cases run at once, and the maximum may be the
/// process's.
const HELD_SHARES: u32 = 4;

/// Under a gentle load a case does this part of its repetitions.
const GENTLE_PART: usize = 5;

/// The least repetitions under a gentle load.
const GENTLE_LEAST: usize = 4;

/// Under a gentle load calls wait for their turns, so answers take so many times as long.
const GENTLE_SLOWER: u32 = 5;

/// How many locks a case may hold at once under a gentle load.
pub(crate) const GENTLE_HELD_MAX: u32 = 8;

pub(crate) struct CaseContext {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) address: String,
    placement: Placement,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    /// A prefix that keeps the names of this run apart from those of all others.
    run: String,
    observer: OnceCell<Locker>,
    pub(super) opened: Opened,
    pub(super) violated: Violated,
}

/// The store that a case uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// A store shared with other cases, which it does not disturb.
    Shared,
    /// A store of its own, which it may take down.
    Dedicated,
}

impl CaseContext {
    /// A context at `address`, which no other case uses.
    pub(crate) fn new(
        target: Arc<dyn Target>,
        address: String,
        placement: Placement,
        opened: Opened,
        violated: Violated,
    ) -> Self {
        Self {
            address,
            placement,
            capabilities: target.capabilities(),
            clock: Clock::boottime(),
            run: format!("{}{:016x}", target.names(), rand::random::<u64>()),
            observer: OnceCell::new(),
            opened,
            violated,
            target,
        }
    }

    /// A lock name that no other case and no other run uses.
    pub(crate) fn name(&self, what: &str) -> Outcome<LockName> {
        Ok(LockName::new(&format!("{}/{what}", self.run))?)
    }

    /// A wait within which another client's call is answered, as `full` is under a full load.
    pub(crate) fn answer_max(&self, full: Duration) -> Duration {
        match self.target.load() {
            Load::Full => full,
            Load::Gentle => full * GENTLE_SLOWER,
        }
    }

    /// How often a case repeats what it does `full` times under a full load.
    pub(crate) fn times(&self, full: usize) -> usize {
        match self.target.load() {
            Load::Full => full,
            Load::Gentle => (full / GENTLE_PART).max(full.min(GENTLE_LEAST)),
        }
    }

    /// A new client of the store, without a locker.
    pub(crate) async fn backend(&self) -> Outcome<Box<dyn DistributedLock>> {
        Ok(self.target.connect(&self.address).await?)
    }

    /// A new link to the store that can fail, for cases that need one.
    pub(crate) async fn link(&self) -> Outcome<Arc<Link>> {
        let link = Arc::new(self.target.link(&self.address).await?);
        self.opened.add_link(&link);
        Ok(link)
    }

    /// Whether the target has such links.
    pub(crate) fn has_link(&self) -> bool {
        self.target.extras().contains(&Extra::Link)
    }

    /// A new client of the store over that link, without a locker.
    pub(crate) async fn backend_over_link(&self, link: &Link) -> Outcome<Box<dyn DistributedLock>> {
        Ok(self.target.connect(&link.address).await?)
    }

    /// A new client of the store over that link.
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
        self.locker_of(backend)
    }

    /// A new client's guard of `name`, which is not renewed.
    pub(crate) async fn hold_unrenewed(&self, name: &LockName, ttl: Duration) -> Outcome<Guard> {
        let locker = self.locker().await?;
        Ok(locker.acquire(name).ttl(ttl).no_renewal().await?)
    }

    /// A new client's guard of `name`, whose renewals hang.
    pub(crate) async fn hold_stalled(&self, name: &LockName, ttl: Duration) -> Outcome<Guard> {
        let stalled = Arc::new(StalledRenewals::default());
        let locker = self.locker_over(&stalled).await?;
        Ok(locker.acquire(name).ttl(ttl).await?)
    }

    /// A new client that waits for `name` in a task.
    pub(crate) async fn spawn_waiter(&self, name: &LockName) -> Outcome<JoinHandle<Result<Guard>>> {
        let acquire = self.locker().await?.acquire(name).wait_forever();
        Ok(tokio::spawn(acquire.into_future()))
    }

    /// A locker over the case's own client.
    pub(crate) fn locker_of(&self, backend: impl DistributedLock) -> Outcome<Locker> {
        let ttl = match self.placement {
            Placement::Shared => self.ttl_long(),
            Placement::Dedicated => self.ttl_dedicated(),
        };
        let locker = Locker::builder(backend).ttl(ttl).build()?;
        self.opened.add_locker(&locker);
        Ok(locker)
    }

    /// The client that observes locks from outside; one for the whole case.
    pub(crate) async fn observer(&self) -> Outcome<&Locker> {
        self.observer.get_or_try_init(|| self.locker()).await
    }

    /// The access to the store that bypasses the backend, for cases that need it.
    pub(crate) fn backdoor(&self) -> Outcome<&dyn Backdoor> {
        self.target
            .backdoor()
            .ok_or_else(|| Failed::from("the target has no backdoor"))
    }

    /// A ttl short enough to wait for, and long enough that a busy machine renews in time.
    pub(crate) fn ttl_short(&self) -> Duration {
        self.ttl(Duration::from_millis(1_500))
    }

    /// A ttl of which a busy machine's pauses take less than half.
    pub(crate) fn ttl_middle(&self) -> Duration {
        match self.target.load() {
            Load::Full => self.ttl(Duration::from_secs(8)),
            // Fewer cases run at once, so the pauses of the machine are shorter.
            Load::Gentle => self.ttl(Duration::from_secs(4)),
        }
    }

    /// The least that a grant of `ttl` lasts, counted from the request of it or the end of the former hold.
    pub(crate) fn granted_at_least(&self, ttl: Duration) -> Duration {
        match self.capabilities.expiry {
            // A heartbeat of the session proves the grant: one that was sent before, and for half of the session at
            // most. A session is longer than two thirds of the time after which it ends.
            Expiry::Session => ttl.min(self.capabilities.takeover_max / 3) * 3 / 4,
            _ => ttl * 9 / 10,
        }
    }

    /// A ttl longer than any case: a lock that becomes free has not expired.
    pub(crate) fn ttl_long(&self) -> Duration {
        self.ttl(Duration::from_secs(120))
    }

    /// The ttl of cases with a dedicated store: a few renewals, and longer than a restart of the store.
    pub(crate) fn ttl_dedicated(&self) -> Duration {
        self.ttl(TTL_DEDICATED)
    }

    /// The allowed ttl closest to `wanted`.
    pub(crate) fn ttl(&self, wanted: Duration) -> Duration {
        let Capabilities {
            ttl_min,
            ttl_max,
            restart_guard,
            ..
        } = self.capabilities;
        // No ttl is longer than the guard, if there is one.
        let max = match restart_guard {
            Duration::ZERO => ttl_max,
            guard => ttl_max.min(guard),
        };
        wanted.clamp(ttl_min, max.max(ttl_min))
    }

    /// A lower bound of the deadline of `guard`.
    pub(crate) fn deadline_at_least(&self, guard: &Guard) -> BootInstant {
        let now = self.clock.now();
        now.after(guard.remaining())
    }

    /// An upper bound of the deadline of `guard`.
    pub(crate) fn deadline_at_most(&self, guard: &Guard) -> BootInstant {
        let remaining = guard.remaining();
        self.clock.now().after(remaining)
    }

    pub(crate) fn tolerance(&self) -> Duration {
        self.target.tolerance()
    }

    /// How many locks a case may hold at once.
    pub(crate) fn held_share(&self) -> usize {
        let max = match self.target.load() {
            Load::Full => u32::MAX,
            Load::Gentle => GENTLE_HELD_MAX,
        };
        let share = self.capabilities.held_max.map(|max| max / HELD_SHARES);
        share.map_or(max, |share| share.clamp(1, max)) as usize
    }

    /// The longest time until the lock of a dead holder with `ttl` left is free (K6).
    pub(crate) fn takeover(&self, ttl: Duration) -> Duration {
        ttl + self.capabilities.takeover_max
    }

    /// Shuts down all clients; fails if they leave a residue (K12).
    pub(crate) async fn finish(self) -> Outcome {
        let bound = self.tolerance();
        // The residue of a killed process expires.
        let settled = self.takeover(self.ttl_short()) + bound;
        drop(self.observer);
        self.opened.close(bound).await?;
        // The residue of a killed process expires.
        if let Some(backdoor) = self.target.backdoor() {
            settle(settled, || async {
                Ok(backdoor.residue(&self.address).await?)
            })
            .await?;
        }
        // A layer's lease may have tasks of its own, which end with it.
        self.opened.forget_unguarded();
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

/// Polls until there is no residue, for at most `bound`.
async fn settle<F: Future<Output = Outcome<Vec<String>>>>(
    bound: Duration,
    residue: impl Fn() -> F,
) -> Outcome {
    let clock = Clock::boottime();
    let end = clock.now().after(bound);
    loop {
        let left = residue().await?;
        if left.is_empty() {
            return Ok(());
        }
        ensure!(
            clock.now() < end,
            "left behind (K12), {bound:?} after all clients ended: {}",
            left.join(", ")
        );
        tokio::time::sleep(POLL_EVERY).await;
    }
}
