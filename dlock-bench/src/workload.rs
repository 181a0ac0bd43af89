//! The work that is measured, of dlock and of its baselines.

use dlock_core::{Result, backend::async_trait};

/// What one task does again and again.
#[async_trait]
pub(crate) trait Cycle: Send {
    /// Takes what nobody else wants, and frees it.
    async fn cycle(&mut self) -> Result<()>;
}
