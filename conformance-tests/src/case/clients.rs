//! Guards and waiters of new clients.

use std::{sync::Arc, time::Duration};

use dlock_core::{Guard, LockName, Result};
use dlock_verify::support::Outcome;
use tokio::task::JoinHandle;

use super::{context::CaseContext, interposers::StalledRenewals};

impl CaseContext {
    /// A new client's guard of `name`, which is not renewed.
    pub(crate) async fn hold_unrenewed(&self, name: &LockName, ttl: Duration) -> Outcome<Guard> {
        let locker = self.locker().await?;
        Ok(locker.acquire(name).ttl(ttl).no_renewal().await?)
    }

    /// A new client's guard of `name`, whose renewals hang.
    pub(crate) async fn hold_stalled(&self, name: &LockName, ttl: Duration) -> Outcome<Guard> {
        let stalled = Arc::new(StalledRenewals::default());
        let locker = self.locker_over(&stalled).await?;
        Ok(locker.acquire(name).ttl(ttl).await?)
    }

    /// A new client that waits for `name` in a task.
    pub(crate) async fn spawn_waiter(&self, name: &LockName) -> Outcome<JoinHandle<Result<Guard>>> {
        let acquire = self.locker().await?.acquire(name).wait_forever();
        Ok(tokio::spawn(acquire.into_future()))
    }
}
