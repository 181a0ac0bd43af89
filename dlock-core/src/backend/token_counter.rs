//! The counter of tokens in a store, for layers that grant one lock in several stores.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{backend::lease::Lease, base::error::Result, base::token::Token};

/// The counter of tokens in a store, which a layer of several stores raises: the lock has one token in all of them.
///
/// A backend returns it from
/// [`DistributedLock::token_counter`](super::DistributedLock::token_counter).
///
/// ```
/// use dlock_core::{Result, Token, backend::{DistributedLock, Lease}};
///
/// /// Whether later grants of the lock in this store get larger tokens than `token`.
/// async fn confirm(store: &dyn DistributedLock, lease: &Lease, token: Token) -> Result<bool> {
///     match store.token_counter() {
///         Some(counter) => counter.raise(lease, token).await,
///         None => Ok(false),
///     }
/// }
/// ```
#[async_trait]
pub trait TokenCounter: Debug + Send + Sync {
    /// Raises the counter to `token` if `lease` still has the lock, in one step of the store. Returns whether it has
    /// it.
    ///
    /// From then on every other grant of the name gets a token above `token`. A counter that is higher already is never
    /// lowered. The holder that [`inspect`](super::DistributedLock::inspect) finds, and a repeated request of the same
    /// attempt, may have either token.
    ///
    /// # Errors
    ///
    /// The counter may be raised. `Internal` for a token that is too large for the store, which changes nothing.
    ///
    /// # Cancel safety
    ///
    /// Needed: a layer drops the future after a time-out of its own. A request that is executed later does the same as
    /// one in time: nothing after a release.
    async fn raise(&self, lease: &Lease, token: Token) -> Result<bool>;
}
