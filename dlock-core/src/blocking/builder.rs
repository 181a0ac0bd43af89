//! The builder of a blocking locker.

use std::time::Duration;

use super::locker::Locker;
use crate::{
    backend::distributed_lock::DistributedLock,
    base::{clock::Clock, error::Result},
    client::{builder as client, locker},
};

impl Locker {
    /// Builds a locker over `backend`, which needs no runtime to be made, such as [`Memory`](crate::memory::Memory).
    /// For other backends see [`from_future`](Self::from_future).
    ///
    /// ```
    /// # fn main() -> dlock_core::Result<()> {
    /// use std::time::Duration;
    ///
    /// use dlock_core::{blocking::Locker, memory::Memory};
    ///
    /// let locks = Locker::builder(Memory::new()).ttl(Duration::from_secs(10)).build()?;
    /// assert!(locks.acquire("seat/14C").lock()?.is_held());
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(backend: impl DistributedLock) -> LockerBuilder {
        LockerBuilder(locker::Locker::builder(backend))
    }
}

/// Builds a blocking [`Locker`]: the defaults of its acquires, and its clock.
///
/// ```
/// # fn main() -> dlock_core::Result<()> {
/// use std::time::Duration;
///
/// use dlock_core::{blocking::Locker, memory::Memory};
///
/// let locks = Locker::builder(Memory::new())
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(60))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct LockerBuilder(client::LockerBuilder);

impl LockerBuilder {
    /// Sets the ttl of locks for which none is given, as [`ttl`](crate::LockerBuilder::ttl).
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// Sets the default wait of an acquire, as [`wait`](crate::LockerBuilder::wait).
    pub fn wait(self, wait: Duration) -> Self {
        Self(self.0.wait(wait))
    }

    /// Sets a number that is added to every token, as [`token_base`](crate::LockerBuilder::token_base).
    pub fn token_base(self, token_base: u64) -> Self {
        Self(self.0.token_base(token_base))
    }

    /// Sets the clock of all deadlines, as [`clock`](crate::LockerBuilder::clock).
    pub fn clock(self, clock: Clock) -> Self {
        Self(self.0.clock(clock))
    }

    /// Builds the locker and starts its thread. No I/O.
    ///
    /// ```
    /// # fn main() -> dlock_core::Result<()> {
    /// use std::time::Duration;
    ///
    /// use dlock_core::{blocking::Locker, memory::Memory};
    ///
    /// // The settings are checked here, before the first acquire.
    /// let locks = Locker::builder(Memory::new()).ttl(Duration::from_nanos(1));
    /// let error = locks.build().unwrap_err();
    /// assert!(error.to_string().contains("ttl 1ns is out of range"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a default ttl or a token base out of bounds; `Unavailable` when the thread cannot be started.
    pub fn build(self) -> Result<Locker> {
        Locker::from_future(async { self.0.build() })
    }
}

/// A blocking builder with the same settings.
impl From<client::LockerBuilder> for LockerBuilder {
    fn from(builder: client::LockerBuilder) -> Self {
        Self(builder)
    }
}
