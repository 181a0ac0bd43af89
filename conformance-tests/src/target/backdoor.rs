//! The way into a store behind the backend's back.

use async_trait::async_trait;
use dlock_core::{Error, ErrorKind, LockName, Result};

/// The way into a store behind the backend's back.
#[async_trait]
pub trait Backdoor: Send + Sync {
    /// Destroys the lock of `name`, whoever holds it (K3, K8).
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn remove(&self, address: &str, name: &LockName) -> Result<()>;

    /// What is left at `address` beyond the documented token counters, one line each (K12). It is
    /// asked for when a case has ended, so the address must be that case's own.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn residue(&self, address: &str) -> Result<Vec<String>>;

    /// Ends the session that holds the lock of `name`, as the store does with one that it does not hear
    /// of ([`Extra::EndSession`]).
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn end_session(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("end a session", address))
    }

    /// Makes the store forget what is held at `address`, and the counters of tokens if it can lose them
    /// ([`Extra::Forget`]). It returns when the store serves again. The address is one of
    /// [`Target::address_alone`].
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn forget(&self, address: &str) -> Result<()> {
        Err(cannot("forget", address))
    }

    /// Lets another server take over the lock of `name`, or starts the same one again
    /// ([`Extra::FailOver`]); the second time it goes back to the first one. Connections stay where the
    /// store lets them, and what the store may lose is lost. It returns when the store serves again.
    /// The address is one of [`Target::address_alone`].
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn fail_over(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("fail over", address))
    }
}

pub(super) fn cannot(what: &str, address: &str) -> Error {
    let why = format!("the target of {address} cannot {what}, and says in its extras that it can");
    Error::new(ErrorKind::Internal, why)
}
