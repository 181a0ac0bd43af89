//! Stores of locks that are made of other stores.
//!
//! | scheme | module | for |
//! |---|---|---|
//! | `migrate:?from=URL&to=URL` | [`migrate`] | a move from one store to another while the locks are used |
//!
//! [`register`] adds the schemes to a registry; the crate `dlock` does that.
#![doc = ""]
#![doc = include_str!("../README.md")]

pub mod migrate;
mod part;
mod undo;

use dlock_core::config::Registry;

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
/// assert!(registry.schemes().any(|scheme| scheme == "migrate"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn register(registry: Registry) -> Registry {
    migrate::register(registry)
}
