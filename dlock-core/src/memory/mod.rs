//! The contract as code: a store of locks in this process's memory.
//!
//! Other backends are compared with it, and users test their own code with it: faults can be injected.

mod faults;
mod migration;
mod store;
mod token_counter;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

pub use self::faults::{Fault, Operation};
use self::{
    faults::Faults,
    store::{Store, Taken},
};
use crate::{
    backend::{
        capabilities::{Capabilities, Expiry, Fencing, Modes, Order, Waiting},
        distributed_lock::DistributedLock,
        holder::Holder,
        lease::{Lease, Renewed},
        migration::MigrationRecord,
        options::Wait,
        request::AcquireRequest,
        token_counter::TokenCounter,
    },
    base::{
        cause::LostCause,
        clock::Clock,
        error::{Error, Result},
        name::LockName,
    },
};

/// Locks in memory, for this process alone.
///
/// A clone is another client of the same store: give one to each locker, and keep one to inject faults.
///
/// ```
/// use dlock_core::{memory::{Fault, Memory, Operation}, Locker};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Memory::new();
/// let locks = Locker::builder(store.clone()).build()?;
/// let guard = locks.acquire("report").await?;
///
/// // The lock is deleted from the store: the code under test must notice.
/// store.revoke("report");
/// assert!(!guard.is_held());
///
/// // The store is down: no lock, and an error that says so.
/// store.inject(Operation::Acquire, Fault::Stall);
/// assert!(locks.acquire("report").wait(std::time::Duration::from_millis(20)).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Memory {
    store: Arc<Store>,
    faults: Arc<Faults>,
    /// The address of this identifies the client, so that `close` releases its holds only.
    closed: Arc<AtomicBool>,
}

impl Memory {
    /// The shortest ttl: what is left of it after the margin is still worth holding.
    const TTL_MIN: Duration = Duration::from_millis(10);

    /// The longest ttl: a day more than a year.
    const TTL_MAX: Duration = Duration::from_secs(366 * 86_400);

    /// A waiter sleeps until the very end of the holder's lease; this is what timers may be late.
    const TAKEOVER_MAX: Duration = Duration::from_millis(10);

    /// Makes an empty store. Leases end by tokio's clock, which tests can pause.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_core::{Locker, memory::Memory};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let locks = Locker::builder(Memory::new()).build()?;
    /// let guard = locks.acquire("report").no_renewal().await?;
    /// tokio::time::advance(Duration::from_secs(60)).await;
    /// assert!(!guard.is_held());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Clock::pausable())
    }

    /// Makes an empty store whose leases end by `clock`, which is that of its lockers, too.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            store: Arc::new(Store::new(clock)),
            faults: Arc::default(),
            closed: Arc::default(),
        }
    }

    /// Makes every `operation` of every client fail as `fault` says, until [`clear_faults`](Self::clear_faults).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use dlock_core::{Locker, memory::{Fault, Memory, Operation}};
    ///
    /// let store = Memory::new();
    /// let locks = Locker::builder(store.clone()).build()?;
    /// store.inject(Operation::Acquire, Fault::Deny);
    /// assert!(locks.acquire("report").await.is_err());
    /// store.clear_faults();
    /// assert!(locks.acquire("report").await.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn inject(&self, operation: Operation, fault: Fault) {
        self.faults.inject(operation, fault, None);
    }

    /// Makes the next `operation` of any client fail as `fault` says.
    pub fn inject_once(&self, operation: Operation, fault: Fault) {
        self.faults.inject(operation, fault, Some(1));
    }

    /// Ends all faults; what is stalled goes on.
    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// Ends every hold of `name` without notifying its holder: an eviction, a flush, an early expiry.
    ///
    /// The holder learns of it at its next renewal.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use dlock_core::{Locker, memory::Memory};
    ///
    /// let store = Memory::new();
    /// let locks = Locker::builder(store.clone()).build()?;
    /// let guard = locks.acquire("report").await?;
    /// store.expire("report");
    /// assert!(guard.is_held());
    /// assert!(guard.renew().await.unwrap_err().is_lost());
    /// # Ok(())
    /// # }
    /// ```
    pub fn expire(&self, name: &str) {
        self.store.remove(name);
    }

    /// Ends every hold of `name` and notifies its holder at once, like a store with notifications.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use dlock_core::{Locker, LostCause, memory::Memory};
    ///
    /// let store = Memory::new();
    /// let locks = Locker::builder(store.clone()).build()?;
    /// let guard = locks.acquire("report").await?;
    /// store.revoke("report");
    /// assert_eq!(guard.lost().await, LostCause::Removed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn revoke(&self, name: &str) {
        for attempt in self.store.remove(name) {
            attempt.report_lost(LostCause::Removed);
        }
    }

    /// The names that are held or waited for.
    #[must_use]
    pub fn names(&self) -> Vec<LockName> {
        self.store.names()
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }

    async fn wait(&self, request: &AcquireRequest) -> Result<Lease> {
        let ticket = self.store.queue(request);
        loop {
            let sent = request.sent_now();
            let free_at = match self.store.take(request, self.client(), Some(&ticket)) {
                Ok(token) => return Ok(request.granted(sent, request.ttl, token, ())),
                Err(Taken { free_at }) => free_at,
            };
            request.attempt.report_contended();
            tokio::select! {
                biased;
                () = ticket.turn() => {}
                () = self.store.sleep_until(free_at) => {}
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            }
            self.check_open()?;
        }
    }

    fn client(&self) -> usize {
        Arc::as_ptr(&self.closed).addr()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        let (store, faults) = (self.store.clone(), self.faults.clone());
        Self {
            store,
            faults,
            closed: Arc::default(),
        }
    }
}

#[async_trait]
impl DistributedLock for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: "memory",
            modes: Modes::ExclusiveAndShared,
            fencing: Fencing::Growing,
            order: Order::Fifo,
            waiting: Waiting::Notified,
            expiry: Expiry::Lease,
            ttl_min: Self::TTL_MIN,
            ttl_max: Self::TTL_MAX,
            held_max: None,
            takeover_max: Self::TAKEOVER_MAX,
            restart_guard: Duration::ZERO,
        }
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.check_open()?;
        let reply = self
            .faults
            .apply(Operation::Acquire, &request.attempt)
            .await?;
        let lease = match request.wait {
            Wait::Never => {
                let sent = request.sent_now();
                match self.store.take(request, self.client(), None) {
                    Ok(token) => Ok(request.granted(sent, request.ttl, token, ())),
                    Err(_) => Err(Error::contended()),
                }
            }
            Wait::UntilCancelled => self.wait(request).await,
        };
        reply.deliver(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.check_open()?;
        let sent = lease.sent_now();
        let reply = self.faults.apply_uncancelled(Operation::Renew).await?;
        let renewed = match self.store.extend(lease) {
            Ok(()) => lease.renewed(sent, lease.ttl),
            Err(cause) => Renewed::Lost(cause),
        };
        reply.deliver(Ok(renewed))
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.check_open()?;
        let reply = self.faults.apply_uncancelled(Operation::Release).await?;
        self.store.release(&lease.name, lease.id());
        reply.deliver(Ok(()))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.check_open()?;
        let reply = self.faults.apply_uncancelled(Operation::Inspect).await?;
        reply.deliver(Ok(self.store.holder(name)))
    }

    async fn close(&self) -> Result<()> {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.store.release_client(self.client());
        }
        Ok(())
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(self)
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        Some(self)
    }
}
