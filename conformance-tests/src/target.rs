//! What the suite has to know of a backend.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Capabilities, DistributedLock, LockName, Result};

/// A backend under test. The methods with a body are extras: each brings more cases or closer ones.
#[async_trait]
pub trait Target: Debug + Send + Sync + 'static {
    /// Its name: the first part of the names of its cases, and what `DLOCK_TEST_REQUIRE` calls it.
    fn name(&self) -> &str;

    /// What its clients will say of themselves: the cases are chosen by it before there is a client.
    fn capabilities(&self) -> Capabilities;

    /// A place in the store that one case has for itself, as a URL or anything else that
    /// [`connect`](Self::connect) reads. Cases use names of their own besides, so a store that has no
    /// such places gives always the same.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong, such as a server that does not start.
    async fn address(&self) -> Result<String>;

    /// A new client of that place, in this process or in a worker.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>>;

    /// Why it cannot be tested on this machine, if so: a server that is not installed. Its cases are
    /// then reported as ignored, or fail where `DLOCK_TEST_REQUIRE` names it.
    ///
    /// # Errors
    ///
    /// The reason, in a line.
    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    /// From where an address can be reached.
    fn reach(&self) -> Reach {
        Reach::OneProcess
    }

    /// The way into the store behind the backend's back, if there is one.
    fn backdoor(&self) -> Option<&dyn Backdoor> {
        None
    }

    /// How much later than the contract's bound something may happen on a busy machine. Generous: it
    /// costs time only where something is wrong.
    fn slack(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// From where the address of a target can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Reach {
    /// From the process that made it only: `memory:`.
    OneProcess,
    /// From all processes of this machine.
    Processes,
}

/// The way into a store behind the backend's back.
#[async_trait]
pub trait Backdoor: Send + Sync {
    /// Destroys the lock of `name`, whoever holds it (K3, K8).
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn remove(&self, address: &str, name: &LockName) -> Result<()>;

    /// What is left at `address` beyond the documented token counters, one line each (K12). It is
    /// asked for when a case has ended, so the address must be that case's own.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn residue(&self, address: &str) -> Result<Vec<String>>;
}
