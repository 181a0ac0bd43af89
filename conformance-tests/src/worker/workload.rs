//! The work of holders, the same in tasks of this process and in worker processes.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{LockName, Locker, Mode};
use dlock_verify::{
    history::{FencedRegister, RecordedGuard, Recorder},
    support::Outcome,
};

/// The longest wait for a grant in a contest; the case bounds the whole contest.
const TURN_MAX: Duration = Duration::from_secs(120);

/// The fenced register of the run, in this process or in the parent.
#[async_trait]
pub(crate) trait FencedStore: Send + Sync {
    /// Accesses the register, like [`FencedRegister::access`].
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>>;
}

#[async_trait]
impl FencedStore for FencedRegister {
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>> {
        Ok(Self::access(self, name, token, wrote))
    }
}

/// A contest of many clients for one lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contest {
    /// How often each client acquires the lock.
    pub(crate) rounds: u32,
    /// Every n-th acquire of a client is shared.
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
            let mode = self.mode(round);
            let acquire = locker.acquire(name).ttl(self.ttl).wait(TURN_MAX);
            let acquire = match mode {
                Mode::Exclusive => acquire,
                Mode::Shared => acquire.shared(),
            };
            let held = recorder.acquire(name, mode, acquire).await?;
            match mode {
                Mode::Exclusive => increment(&held, store).await?,
                Mode::Shared => tokio::task::yield_now().await,
            }
            if held.report() {
                held.release().await?;
            } else {
                held.lost();
            }
        }
        Ok(())
    }

    fn mode(self, round: u32) -> Mode {
        match self.shared_every {
            Some(every) if round.is_multiple_of(every) => Mode::Shared,
            _ => Mode::Exclusive,
        }
    }
}

/// Adds one to the register of the lock, and yields between the read and the write.
pub(crate) async fn increment(held: &RecordedGuard, store: &dyn FencedStore) -> Outcome {
    let (name, token) = (held.guard().name().as_str(), held.guard().token().get());
    if let Some(value) = store.access(name, token, None).await? {
        tokio::task::yield_now().await;
        store.access(name, token, Some(value + 1)).await?;
    }
    Ok(())
}
