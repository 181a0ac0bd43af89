//! Stores of locks that are made of other stores.
//!
//! | scheme | module | for |
//! |---|---|---|
//! | `migrate:?from=URL&to=URL` | [`migrate`] | a move from one store to another while the locks are used |
//! | `quorum:?1=URL&2=URL&3=URL` | [`quorum`] | locks that most of several independent stores hold |
//!
//! [`register`] adds the schemes to a registry; the crate `dlock` does that.
#![doc = ""]
#![doc = include_str!("../README.md")]

pub mod migrate;
mod panics;
mod part;
mod parts;
pub mod quorum;
mod reports;
mod schemes;
mod undo;

use dlock_core::config::Registry;

pub use self::parts::{NestedStore, parts};

/// Adds the schemes of this crate, for stores that `registry` has.
///
/// ```
/// use dlock_core::{config::{Config, Registry}, memory::Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// let registry = Registry::new()
///     .register("memory", |_| Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) })));
/// let registry = dlock_layers::register(registry);
/// assert!(registry.schemes().any(|scheme| scheme == "quorum"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn register(registry: Registry) -> Registry {
    // None of them is a part of another one.
    migrate::register(quorum::register(registry))
}
