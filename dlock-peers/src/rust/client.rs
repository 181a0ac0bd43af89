//! The interface of a client in Rust.

use async_trait::async_trait;

use crate::failure::Failure;

/// A client that is connected; tasks share it.
#[async_trait]
pub(super) trait Client: Send + Sync {
    /// A lock of this name, which is not held.
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure>;
}

/// A lock of one name, for one task.
#[async_trait]
pub(super) trait Lock: Send {
    /// Acquires it, however long that takes.
    async fn acquire(&mut self) -> Result<(), Failure>;
    /// Releases it; it is held.
    async fn release(&mut self) -> Result<(), Failure>;
    /// Makes it the lock of another name, which no client has used. It is not held.
    fn rename(&mut self, name: String);
}

/// Why a lock that is not held was to be released.
pub(super) fn not_held() -> Failure {
    "the lock is not held".into()
}

/// The address in dlock's URL, without its keys.
pub(super) fn without_keys(url: &str) -> &str {
    url.split_once('?').map_or(url, |(address, _)| address)
}
