//! The trait that every store implements.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;

use crate::{
    backend::{
        capabilities::Capabilities,
        holder::Holder,
        lease::{Lease, Renewed},
        migration::MigrationRecord,
        request::AcquireRequest,
        token_counter::TokenCounter,
    },
    base::{clock::Clock, error::Result, name::LockName},
};

/// A try to release takes no longer than this; then core drops it and makes another.
pub const RELEASE_TRY_MAX: Duration = Duration::from_secs(5);

/// A store of locks: implemented by each backend. Users hold a [`Locker`](crate::Locker).
///
/// The trait is object-safe. Its provided methods are `clock`, `migration_record` and `token_counter`; a wrapper forwards
/// them, too. A locker owns its backend. The locker runs `acquire` to its end even if the caller is dropped, so a backend needs no drop guards.
/// Each of its exchanges with the store has a time-out of its own.
///
/// A driver that blocks runs in [`tokio::task::spawn_blocking`], as no method may block the runtime. A blocking call
/// goes on after its future is dropped. So a late renewal must find nothing after a release (K4).
///
/// A store that keeps deadlines on the boot-time clock also keeps the id of the boot. After a restart of the machine
/// that clock begins again, and an old deadline would hold the lock too long.
///
/// # A whole backend
///
/// ```
/// use std::{collections::HashMap, time::Duration};
///
/// use dlock_core::{
///     BootInstant, Capabilities, Clock, Error, Expiry, Fencing, Holder, LockName, Locker, LostCause,
///     Modes, Order, Result, Token, Waiting,
///     backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait, async_trait},
///     toolkit::Lock,
/// };
///
/// /// Locks in a table of this process. A real store needs requests with a time-out.
/// #[derive(Debug, Default)]
/// struct TableLock(Lock<Table>);
///
/// #[derive(Debug, Default)]
/// struct Table {
///     closed: bool,
///     last_token: u64,
///     held: HashMap<LockName, (Holder, BootInstant)>,
/// }
///
/// impl TableLock {
///     /// Changes the table, without the holds that have expired.
///     fn with<T>(&self, change: impl FnOnce(&mut Table) -> T) -> Result<T> {
///         let mut table = self.0.lock();
///         if table.closed {
///             return Err(Error::closed());
///         }
///         let now = Clock::boottime().now();
///         table.held.retain(|_, (_, until)| *until > now);
///         Ok(change(&mut table))
///     }
///
///     fn try_once(&self, request: &AcquireRequest) -> Result<Option<Lease>> {
///         let sent = request.sent_now();
///         self.with(|table| {
///             let token = match table.held.get(&request.name) {
///                 Some((holder, _)) if holder.attempt != Some(request.attempt.id()) => return None,
///                 // A repeated request of the attempt that holds it (K5).
///                 Some((holder, _)) => holder.token?,
///                 None => {
///                     table.last_token += 1;
///                     Token::new(table.last_token)?
///                 }
///             };
///             let holder = Holder::from_request(request, token);
///             let until = request.clock().now().after(request.ttl);
///             table.held.insert(request.name.clone(), (holder, until));
///             Some(request.granted(sent, request.ttl, token, ()))
///         })
///     }
/// }
///
/// #[async_trait]
/// impl DistributedLock for TableLock {
///     fn capabilities(&self) -> Capabilities {
///         Capabilities {
///             backend: "table",
///             modes: Modes::Exclusive,
///             fencing: Fencing::Growing,
///             order: Order::Unordered,
///             waiting: Waiting::Polled,
///             expiry: Expiry::Lease,
///             ttl_min: Duration::from_millis(100),
///             ttl_max: Duration::from_secs(86_400),
///             held_max: None,
///             takeover_max: Duration::from_millis(10),
///             restart_guard: Duration::ZERO,
///         }
///     }
///
///     async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
///         loop {
///             if let Some(lease) = self.try_once(request)? {
///                 return Ok(lease);
///             }
///             if request.wait == Wait::Never {
///                 return Err(Error::contended());
///             }
///             request.attempt.report_contended();
///             tokio::select! {
///                 () = tokio::time::sleep(Duration::from_millis(10)) => {}
///                 () = request.attempt.cancelled() => return Err(Error::cancelled()),
///             }
///         }
///     }
///
///     async fn renew(&self, lease: &Lease) -> Result<Renewed> {
///         let sent = lease.sent_now();
///         self.with(|table| match table.held.get_mut(&lease.name) {
///             Some((holder, until)) if holder.attempt == Some(lease.id()) => {
///                 *until = lease.clock().now().after(lease.ttl);
///                 lease.renewed(sent, lease.ttl)
///             }
///             Some(_) => Renewed::Lost(LostCause::Taken),
///             None => Renewed::Lost(LostCause::Removed),
///         })
///     }
///
///     async fn release(&self, lease: &Lease) -> Result<()> {
///         let is_other = |holder: &Holder| holder.attempt != Some(lease.id());
///         self.with(|table| table.held.retain(|_, (holder, _)| is_other(holder)))
///     }
///
///     async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
///         self.with(|table| table.held.get(name).map(|(holder, _)| holder.clone()))
///     }
///
///     async fn close(&self) -> Result<()> {
///         *self.0.lock() = Table { closed: true, ..Table::default() };
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let locks = Locker::builder(TableLock::default()).build()?;
/// let guard = locks.acquire("seat/14C").await?;
/// assert!(locks.try_acquire("seat/14C").await?.is_none());
/// guard.renew().await?;
/// guard.release().await?;
/// assert!(locks.inspect("seat/14C").await?.is_none());
/// # Ok(())
/// # }
/// ```
///
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/contract.md"))]
#[async_trait]
pub trait DistributedLock: Debug + Send + Sync + 'static {
    /// The properties of this backend: constant, without I/O.
    fn capabilities(&self) -> Capabilities;

    /// The clock of a locker that is given none: the machine's. Only a backend for tests has another one.
    fn clock(&self) -> Clock {
        Clock::boottime()
    }

    /// Takes the lock, or waits for it as `request.wait` says.
    ///
    /// Core has checked name, ttl, mode and note against the capabilities.
    ///
    /// A second request of the same attempt gets the same token, if the first one is granted (K5). So the store keeps
    /// the attempt's id beside the token, and a backend may repeat a request whose reply was lost.
    ///
    /// While it waits, the backend calls [`report_contended`](crate::backend::Attempt::report_contended) when
    /// the store has answered so, and [`report_unavailable`](crate::backend::Attempt::report_unavailable)
    /// while the store cannot be reached. After [`cancelled`](crate::backend::Attempt::cancelled) it undoes
    /// what it did and returns [`Error::cancelled`](crate::Error::cancelled), within a bound of its own that
    /// its documentation names.
    ///
    /// # Errors
    ///
    /// `Contended` when the wait is `Never` and the lock is taken; `Unavailable`, `Denied` and others as they
    /// come. A wait goes on after an error that is [retryable](crate::Error::is_retryable), and ends with any other.
    /// After an error nothing is held or queued. Or the error's effect is `Unknown` (K9), and it ends by
    /// itself within the ttl or is [undone](AcquireRequest::undo) in the background.
    ///
    /// # Cancel safety
    ///
    /// Not needed: the future is never dropped before its end while the runtime lives.
    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease>;

    /// Proves that `lease` is still held and moves its deadline (K3).
    ///
    /// # Errors
    ///
    /// Any error means unknown: the old deadline stays, and core tries again before it.
    ///
    /// # Cancel safety
    ///
    /// Needed: core drops the future after half of what remains of the lease, 10 s at the most, which
    /// counts as unknown. A later renewal or release copes with what the dropped one left.
    async fn renew(&self, lease: &Lease) -> Result<Renewed>;

    /// Frees the grant of `lease` and nothing else; success also if it is gone already (K4).
    ///
    /// # Errors
    ///
    /// The release is not confirmed; core tries again.
    ///
    /// # Cancel safety
    ///
    /// As for renewals: core drops a try after [`RELEASE_TRY_MAX`] and makes
    /// another.
    async fn release(&self, lease: &Lease) -> Result<()>;

    /// Returns the holder of the lock, if there is one.
    ///
    /// # Errors
    ///
    /// `Unavailable`, `Denied` and others as they come.
    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>>;

    /// Ends sessions and connections, and with them all locks that are still held. Idempotent; every later
    /// call of another method fails with `Unavailable`.
    ///
    /// # Errors
    ///
    /// The store could not be reached; what was held ends by its ttl.
    async fn close(&self) -> Result<()>;

    /// The record of a migration in this store, for a backend that can keep one. Without it, locks cannot move to or
    /// from the store while they are used.
    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        None
    }

    /// The counter of tokens, for a backend that can raise it. Without it, a quorum with this store has no fencing.
    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        None
    }
}
