//! The interface of a floor, of the server behind it and of the lock that the server offers.

use std::time::Duration;

use dlock_core::{Result, backend::async_trait};

use crate::{report::Baseline, workload::Cycle};

/// The driver of one store, connected with the URL that dlock has.
pub(crate) trait Floor: Send + Sync {
    /// Describes one cycle in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which no other task uses.
    fn task(&self, name: &str) -> Box<dyn Cycle>;

    /// The server, if the store has one.
    fn server(&self) -> Option<&dyn Server>;

    /// The server's own lock, if it has one.
    fn own_lock(&self) -> Option<&dyn OwnLock> {
        None
    }
}

/// A lock that the server offers by itself: what users have without dlock.
pub(crate) trait OwnLock: Send + Sync {
    /// Describes one cycle in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which no other task uses.
    fn task(&self, name: &str) -> Box<dyn Cycle>;
}

/// The process at the other end.
#[async_trait]
pub(crate) trait Server: Send + Sync {
    /// The unit in which a hand-over is counted. It is a round trip, or a durable write where a store makes one
    /// for each change of a lock.
    fn unit(&self) -> &'static str {
        Baseline::ROUND_TRIP
    }

    /// Makes one of it.
    async fn round_trip(&self) -> Result<()>;

    /// The processor time that the server has used since its start; `None` when it does not report it.
    async fn cpu_time(&self) -> Result<Option<Duration>>;
}
