//! A lock that is taken and released, to see whether programs could.

use std::time::Duration;

use dlock::{Locker, Result};

/// The lock.
const NAME: &str = "dlock-migrate/check";

/// How long closing a store may keep dlock from ending.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Takes the lock by `locker`, releases it, and closes the locker.
pub(super) async fn take(locker: Locker, wait: Duration) -> Result<()> {
    let released = async {
        let guard = locker.acquire(NAME).wait(wait).await?;
        guard.release().await
    };
    let released = released.await;
    let _ = locker.shutdown(CLOSE_MAX).await;
    released
}
