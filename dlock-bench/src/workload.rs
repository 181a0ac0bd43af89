//! The work that is measured, of dlock and of its baselines.

use dlock_core::{Result, backend::async_trait};

/// A cycle that one task repeats.
#[async_trait]
pub(crate) trait Cycle: Send {
    /// Takes a lock that no other task wants, and frees it.
    async fn cycle(&mut self) -> Result<()>;
}
