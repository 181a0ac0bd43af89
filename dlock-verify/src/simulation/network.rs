//! The network between one client and the store.

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    Effect, Error, ErrorKind, Result, backend::AcquireRequest, memory::Memory, toolkit::Lock,
};
use tokio::{spawn, time::sleep};

use super::conditions::Conditions;
use crate::random::Random;

/// A client without a reply gives up after this.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// A waiting client tries again within this.
const POLL_MAX_MS: u64 = 8;

/// A slow message takes less than this.
const SLOW_MAX_MS: u64 = 250;

/// A late message arrives within this.
const LATE_MAX_MS: u64 = 200;

/// A connection to a memory store. Cheap to clone; clones are the same connection.
#[derive(Clone, Debug)]
pub(super) struct Network(Arc<Link>);

#[derive(Debug)]
struct Link {
    store: Memory,
    random: Lock<Random>,
    conditions: Lock<Conditions>,
}

impl Network {
    pub(super) fn new(store: Memory, random: Random) -> Self {
        Self(Arc::new(Link {
            store,
            random: Lock::new(random),
            conditions: Lock::new(Conditions::PERFECT),
        }))
    }

    pub(super) fn set(&self, conditions: Conditions) {
        *self.0.conditions.lock() = conditions;
    }

    /// The store, without the network.
    pub(super) fn store(&self) -> &Memory {
        &self.0.store
    }

    /// Sends one request, and waits for its reply.
    pub(super) async fn exchange<T, F>(
        &self,
        operation: impl Fn(Memory) -> F + Clone + Send + 'static,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        self.delay().await;
        let is_lost = self.roll(|random, conditions| random.chance(conditions.lost));
        let is_late = self.roll(|random, conditions| {
            random.chance(conditions.late) || is_lost && conditions.late > 0 && random.chance(500)
        });
        if is_late {
            let (network, operation) = (self.clone(), operation.clone());
            spawn(async move {
                let millis = network.roll(|random, _| random.below(LATE_MAX_MS));
                sleep(Duration::from_millis(millis)).await;
                let _ = operation(network.0.store.clone()).await;
            });
        }
        if is_lost {
            sleep(REQUEST_TIMEOUT).await;
            return Err(no_reply());
        }
        let reply = operation(self.0.store.clone()).await;
        self.delay().await;
        if self.roll(|random, conditions| random.chance(conditions.lost)) {
            sleep(REQUEST_TIMEOUT).await;
            return Err(no_reply());
        }
        reply
    }

    /// The pause before a waiting client tries again.
    pub(super) async fn pause(&self, request: &AcquireRequest) -> Result<()> {
        let millis = self.roll(|random, _| 1 + random.below(POLL_MAX_MS));
        tokio::select! {
            biased;
            () = request.attempt.cancelled() => Err(Error::cancelled()),
            () = sleep(Duration::from_millis(millis)) => Ok(()),
        }
    }

    async fn delay(&self) {
        let millis = self.roll(|random, conditions| {
            let is_slow = random.chance(conditions.slow);
            match (conditions.slow, is_slow) {
                (0, _) => 0,
                (_, true) => random.below(SLOW_MAX_MS),
                (_, false) => random.below(4).saturating_sub(1),
            }
        });
        if millis > 0 {
            sleep(Duration::from_millis(millis)).await;
        }
    }

    fn roll<T>(&self, roll: impl FnOnce(&mut Random, Conditions) -> T) -> T {
        roll(&mut self.0.random.lock(), *self.0.conditions.lock())
    }
}

fn no_reply() -> Error {
    Error::new(ErrorKind::Unavailable, "no reply (simulated)").with_effect(Effect::Unknown)
}
