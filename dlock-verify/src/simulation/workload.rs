//! The work of the clients of a simulation.

use std::{sync::Arc, time::Duration};

use dlock_core::{LockName, Locker, Mode, Result, backend::Wait, toolkit::Lock};
use tokio::time::{sleep, timeout};

use crate::{
    history::{FencedRegister, RecordedGuard, Recorder},
    random::Random,
};

/// The locks.
const NAMES: [&str; 2] = ["a", "b"];

/// A loss is reported within this after a hold has ended (K8): timers count whole milliseconds.
const LOSS_MAX: Duration = Duration::from_millis(2);

/// A hold of so many milliseconds reports its deadline all the time, so that the history has the renewals.
const REPORTED_FROM: u64 = 8;

/// One task of a client: it takes locks, works under them, and ends when it shall.
pub(super) struct Task {
    pub(super) locker: Locker,
    pub(super) recorder: Recorder,
    pub(super) register: Arc<FencedRegister>,
    pub(super) random: Random,
    /// The longest hold, in milliseconds.
    pub(super) hold_max: u64,
    pub(super) shared: Arc<Shared>,
}

/// The state that the tasks and the simulation share.
#[derive(Debug)]
pub(super) struct Shared {
    names: Vec<LockName>,
    /// Whether the tasks shall end.
    pub(super) stops: Lock<bool>,
    /// The violations that the tasks have found.
    pub(super) violations: Lock<Vec<String>>,
}

impl Shared {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            names: NAMES
                .into_iter()
                .map(LockName::new)
                .collect::<Result<_>>()?,
            stops: Lock::default(),
            violations: Lock::default(),
        })
    }
}

impl Task {
    pub(super) async fn run(mut self) {
        while !*self.shared.stops.lock() {
            match self.take().await {
                Some((name, guard)) => self.work(&name, guard).await,
                None => self.pause(6).await,
            }
            self.pause(4).await;
        }
    }

    async fn pause(&mut self, below: u64) {
        sleep(Duration::from_millis(self.random.below(below))).await;
    }

    /// Takes a lock in one of the ways in which users do.
    async fn take(&mut self) -> Option<(LockName, RecordedGuard)> {
        let name = self.shared.names[usize::from(self.random.chance(300))].clone();
        let acquire = self.locker.acquire(&name);
        let way = self.random.below(6);
        let is_try = way < 2;
        let acquire = match way {
            0 | 1 => acquire.wait(Duration::ZERO),
            2 | 3 => acquire.wait(Duration::from_millis(self.random.below(20))),
            4 => acquire.wait(Duration::from_millis(self.random.below(300))),
            _ => acquire.wait_forever(),
        };
        let (mode, acquire) = match self.random.chance(200) {
            true => (Mode::Shared, acquire.shared()),
            false => (Mode::Exclusive, acquire),
        };
        let acquire = match self.random.chance(200) {
            true => acquire.no_renewal(),
            false => acquire,
        };
        let wait = match is_try {
            true => Wait::Never,
            false => Wait::UntilCancelled,
        };
        let recorded = self.recorder.acquire_noted(&name, mode, wait, |_| acquire);
        let guard = match self.random.chance(150) {
            // The caller is gone.
            true => {
                let limit = Duration::from_millis(self.random.below(25));
                timeout(limit, recorded).await.ok()?
            }
            false => recorded.await,
        };
        self.check_kind(&guard);
        Some((name, guard.ok()?))
    }

    /// A cancelled attempt is an outcome of backends, not of users.
    fn check_kind(&self, guard: &Result<RecordedGuard>) {
        if let Err(error) = guard
            && !error.is_contended()
            && !error.is_retryable()
        {
            self.violated(format!("an acquire failed: {error:?}"));
        }
    }

    /// Increments the register under the lock, mostly briefly, and ends the hold.
    async fn work(&mut self, name: &LockName, guard: RecordedGuard) {
        let millis = match self.random.below(10) {
            0 => self.random.below(self.hold_max),
            _ => self.random.below(8),
        };
        let token = guard.guard().token().get();
        let value = self.register.read(name.as_str(), token);
        let is_held = self.hold(&guard, millis).await;
        if let Some(value) = value
            && is_held
            && guard.guard().is_held()
        {
            self.register.write(name.as_str(), token, value + 1);
        }
        match guard.report() {
            false => guard.lost(),
            // A drop releases, too.
            true if self.random.chance(100) => guard.abandon(),
            true => drop(guard.release().await),
        }
    }

    /// Holds for so long; whether the lock was held to the end. A loss must be reported (K8).
    async fn hold(&self, guard: &RecordedGuard, millis: u64) -> bool {
        for _ in 0..millis {
            sleep(Duration::from_millis(1)).await;
            let is_held = match millis < REPORTED_FROM {
                true => guard.guard().is_held(),
                false => guard.report(),
            };
            if !is_held {
                if timeout(LOSS_MAX, guard.guard().lost()).await.is_err() {
                    self.violated(format!("the loss of {guard:?} was not reported"));
                }
                return false;
            }
        }
        true
    }

    fn violated(&self, violation: String) {
        self.shared.violations.lock().push(violation);
    }
}
