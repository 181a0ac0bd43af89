//! Access to a store that bypasses the backend.

use async_trait::async_trait;
use dlock_core::{Error, ErrorKind, LockName, Result};

/// Access to a store that bypasses the backend.
#[async_trait]
pub trait Backdoor: Send + Sync {
    /// Destroys the lock of `name` regardless of its holder (K3, K8).
    ///
    /// # Errors
    ///
    /// Fails the case.
    async fn remove(&self, address: &str, name: &LockName) -> Result<()>;

    /// The residue at `address` beyond the documented token counters, one line each (K12).
    ///
    /// It is checked after each case, so the address must be that case's own.
    ///
    /// # Errors
    ///
    /// Fails the case.
    async fn residue(&self, address: &str) -> Result<Vec<String>>;

    /// Ends the session that holds the lock of `name`, as the store does with an expired one
    /// ([`Extra::EndSession`](super::Extra::EndSession)).
    ///
    /// # Errors
    ///
    /// By default, because the target cannot; else fails the case.
    async fn end_session(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("end a session", address))
    }

    /// Makes the store lose the locks at `address`, and the token counters if it can lose them
    /// ([`Extra::DataLoss`](super::Extra::DataLoss)).
    ///
    /// It returns when the store serves again. The address is a
    /// [dedicated](super::Target::dedicated_address) one.
    ///
    /// # Errors
    ///
    /// By default, because the target cannot; else fails the case.
    async fn lose_data(&self, address: &str) -> Result<()> {
        Err(cannot("lose data", address))
    }

    /// Lets another server take over the lock of `name`, or restarts the same server
    /// ([`Extra::FailOver`](super::Extra::FailOver)).
    ///
    /// The second time it returns to the first server. Connections stay open where the store allows
    /// that; data that the store may lose are lost. It returns when the store serves again. The address
    /// is a [dedicated](super::Target::dedicated_address) one.
    ///
    /// # Errors
    ///
    /// By default, because the target cannot; else fails the case.
    async fn fail_over(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("fail over", address))
    }
}

pub(super) fn cannot(what: &str, address: &str) -> Error {
    let why = format!("the target of {address} cannot {what}, and says in its extras that it can");
    Error::new(ErrorKind::Internal, why)
}
