//! The store of a service under test, and another client of it.

use dlock::{Guard, Locker, Memory};
use dlock_verify::support::{Outcome, until};

/// The lock that the services take for the customer `acme`.
const NAME: &str = "invoices/acme";

pub(crate) struct Store {
    pub(crate) memory: Memory,
    other: Locker,
}

impl Store {
    /// Makes an empty store, and the locker of a service.
    pub(crate) fn new() -> Outcome<(Self, Locker)> {
        let memory = Memory::new();
        let other = Locker::builder(memory.clone()).build()?;
        let locks = Locker::builder(memory.clone()).build()?;
        Ok((Self { memory, other }, locks))
    }

    /// Takes the lock, shared, as another process would.
    pub(crate) async fn take(&self) -> Outcome<Guard> {
        Ok(self.other.acquire(NAME).shared().await?)
    }

    /// Waits until the service waits for the lock that is [taken](Self::take). From then on the store is fair, and lets
    /// no other process share it.
    pub(crate) async fn until_waited_for(&self) -> Outcome {
        until("the service waits", async || Ok(!self.shares().await?)).await
    }

    /// Whether the lock that is [taken](Self::take) is shared with another process: the service does not wait for it.
    pub(crate) async fn shares(&self) -> Outcome<bool> {
        let other = self.other.try_acquire(NAME).shared().await?;
        Ok(other.is_some())
    }

    /// Waits until no lock is held or waited for.
    pub(crate) async fn until_unused(&self) -> Outcome {
        until("no lock is left", async || {
            Ok(self.memory.names().is_empty())
        })
        .await
    }
}
