//! The interface of a floor, of the server behind it and of the lock that the server offers.

use std::time::Duration;

use dlock_core::{Result, backend::async_trait};

/// The unit of a server whose locks are kept in memory.
pub const ROUND_TRIP: &str = "round trip";

/// The unit of a server that makes a change durable before it answers.
pub const WRITE: &str = "write";

/// A cycle that one task repeats.
#[async_trait]
pub trait Cycle: Send {
    /// Takes a lock that no other task wants, and frees it.
    ///
    /// # Errors
    ///
    /// What the driver says, or that another client uses the name.
    async fn cycle(&mut self) -> Result<()>;
}

/// The driver of one store, connected with the URL that dlock has.
#[async_trait]
pub trait Floor: Send + Sync {
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

    /// Removes what locks and cycles of these names left in the store. No program may use them any more.
    ///
    /// # Errors
    ///
    /// What the driver says; the rest of the names is still there then.
    async fn remove(&self, names: &[String]) -> Result<()> {
        // By default a lock leaves nothing of its own.
        let _ = names;
        Ok(())
    }
}

/// A lock that the server offers by itself: what users have without dlock.
pub trait OwnLock: Send + Sync {
    /// Describes one cycle in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which no other task uses.
    fn task(&self, name: &str) -> Box<dyn Cycle>;
}

/// The process at the other end.
#[async_trait]
pub trait Server: Send + Sync {
    /// The unit in which a hand-over is counted. It is a round trip, or a durable write where a store makes one
    /// for each change of a lock.
    fn unit(&self) -> &'static str {
        ROUND_TRIP
    }

    /// Makes one exchange of that unit.
    ///
    /// # Errors
    ///
    /// What the driver says.
    async fn round_trip(&self) -> Result<()>;

    /// The processor time that the server has used since its start; `None` when it does not report it.
    ///
    /// # Errors
    ///
    /// What the driver says.
    async fn cpu_time(&self) -> Result<Option<Duration>>;

    /// The server and its version, such as `Redis 7.0.15`; `None` when it does not report it.
    ///
    /// # Errors
    ///
    /// What the driver says.
    async fn version(&self) -> Result<Option<String>>;

    /// The work and the memory of the server, as far as it reports them.
    ///
    /// # Errors
    ///
    /// What the driver says.
    async fn usage(&self) -> Result<Usage>;
}

/// The work and the memory of a server; `None` where it does not report a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// How many requests it has served since its start, of all clients.
    pub requests: Option<u64>,
    /// The memory of its data, in bytes.
    pub bytes: Option<u64>,
}
