//! The work of holders, the same in tasks of this process and in worker processes.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{LockName, Locker};
use dlock_verify::{
    history::{FencedRegister, RecordedGuard, Recorder},
    support::Outcome,
};

/// How long one waits for its turn in a contest; the whole contest is bounded by the case.
const TURN_MAX: Duration = Duration::from_secs(120);

/// Where a holder does its work: the fenced register of the run, here or in another process.
#[async_trait]
pub(crate) trait FencedStore: Send + Sync {
    /// As [`FencedRegister::access`].
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>>;
}

#[async_trait]
impl FencedStore for FencedRegister {
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>> {
        Ok(Self::access(self, name, token, wrote))
    }
}

/// Many clients want one lock, each of them several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contest {
    /// How often each takes it.
    pub(crate) rounds: u32,
    /// Each that many-th time it takes it shared.
    pub(crate) shared_every: Option<u32>,
    pub(crate) ttl: Duration,
}

impl Contest {
    /// Takes part in it as one client.
    pub(crate) async fn run(
        self,
        locker: &Locker,
        name: &LockName,
        recorder: &Recorder,
        store: &dyn FencedStore,
    ) -> Outcome {
        for round in 1..=self.rounds {
            let shared = self.shared_every.is_some_and(|every| round % every == 0);
            let acquire = locker.acquire(name).ttl(self.ttl).wait(TURN_MAX);
            let acquire = if shared { acquire.shared() } else { acquire };
            let held = recorder.acquire(name, shared, acquire).await?;
            if shared {
                tokio::task::yield_now().await;
            } else {
                increment(&held, store).await?;
            }
            if held.report() {
                held.release().await?;
            } else {
                held.lost();
            }
        }
        Ok(())
    }
}

/// Adds one to the register of the lock, with a gap between reading and writing in which everybody
/// else can run.
pub(crate) async fn increment(held: &RecordedGuard, store: &dyn FencedStore) -> Outcome {
    let (name, token) = (held.guard().name().as_str(), held.guard().token().get());
    if let Some(value) = store.access(name, token, None).await? {
        tokio::task::yield_now().await;
        store.access(name, token, Some(value + 1)).await?;
    }
    Ok(())
}
