//! The trait that every store implements.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;

use crate::{
    backend::{
        capabilities::Capabilities,
        holder::Holder,
        lease::{Lease, Renewed},
        request::AcquireRequest,
    },
    base::{error::Result, name::LockName},
};

/// A try to release takes no longer than this; then core drops it and makes another.
pub const RELEASE_TRY_MAX: Duration = Duration::from_secs(5);

/// A store of locks: what an implementor writes. Users hold a [`Locker`](crate::Locker).
///
/// The trait is object-safe. It has no provided methods, so a wrapper must forward each one. Each value
/// has one locker. The locker runs `acquire` to its end even if the caller is dropped, so a backend needs
/// no drop guards; each of its exchanges with the store has a time-out of its own.
///
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/contract.md"))]
#[async_trait]
pub trait DistributedLock: Debug + Send + Sync + 'static {
    /// What this backend can do: constant, without I/O.
    fn capabilities(&self) -> Capabilities;

    /// Takes the lock, or waits for it as `request.wait` says.
    ///
    /// Core has checked name, ttl, mode and note against the capabilities. While it waits, the backend
    /// says [`report_contended`](crate::backend::Attempt::report_contended) when the store has answered so, and
    /// [`report_unavailable`](crate::backend::Attempt::report_unavailable) while it cannot be asked; after
    /// [`cancelled`](crate::backend::Attempt::cancelled) it undoes what it did and returns
    /// [`Error::cancelled`](crate::Error::cancelled) within a bound of its own, which its documentation names.
    ///
    /// # Errors
    ///
    /// `Contended` when the wait is `Never` and the lock is taken; `Unavailable`, `Denied` and others
    /// as they come. After an error nothing is held or queued; or the error's effect is `Unknown` (K9),
    /// and it ends by itself within the ttl or is [undone](AcquireRequest::undo) in the background.
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
    /// counts as unknown. A later renewal or release copes with whatever it left.
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

    /// Ends sessions and connections, and with them what is still held. Idempotent; every call after
    /// it fails with `Unavailable`.
    ///
    /// # Errors
    ///
    /// The store could not be reached; what was held ends by its ttl.
    async fn close(&self) -> Result<()>;
}
