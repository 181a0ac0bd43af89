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

/// A cycle whose name is another one each time, as those of orders or users are.
#[async_trait]
pub trait NewName: Send {
    /// Takes a lock that was never taken before, and frees it.
    ///
    /// # Errors
    ///
    /// What the driver says, or that another client uses the name.
    async fn cycle(&mut self, name: &str) -> Result<()>;
}

/// The driver of one store, connected with the URL that dlock has.
#[async_trait]
pub trait Floor: Send + Sync {
    /// Describes one cycle in words.
    fn what(&self) -> &'static str;

    /// A task that takes and frees `name`, which no other task uses.
    fn task(&self, name: &str) -> Box<dyn Cycle>;

    /// Describes one cycle on a new name in words.
    fn what_new(&self) -> &'static str {
        self.what()
    }

    /// A task that takes and frees names, each once.
    fn new_names(&self) -> Box<dyn NewName>;

    /// Removes what [`new_names`](Self::new_names) left of a name and [`Residue`](crate::residue::Residue) does not
    /// know of. By default that is nothing.
    ///
    /// # Errors
    ///
    /// When the store refuses it.
    fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// The server, if the store has one.
    fn server(&self) -> Option<&dyn Server>;

    /// The server's own lock, if it has one.
    fn own_lock(&self) -> Option<&dyn OwnLock> {
        None
    }

    /// Ends what keeps keys alive in the store, such as leases. All cycles have ended, also those that were dropped.
    ///
    /// # Errors
    ///
    /// What the driver says; the rest ends with its ttl then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the rest until its ttl.
    async fn close(&self) -> Result<()> {
        // By default all of it ends with the connection.
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

    /// The times that the server has counted since its start.
    ///
    /// # Errors
    ///
    /// What the driver says.
    async fn times(&self) -> Result<Times> {
        // By default a server counts none.
        Ok(Times::default())
    }

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

/// Times that a server counts; `None` where it does not report one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// The processor time that it has used.
    pub cpu: Option<Duration>,
    /// How long it has waited for its disk to make changes durable, one wait after another.
    pub flush: Option<Duration>,
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
