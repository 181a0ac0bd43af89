//! Client churn: many clients, one after the other, leave no resources in the process (K12).

use std::{fs, time::Duration};

use dlock_core::{Clock, LockName, Locker};
use dlock_verify::{ensure, support::Outcome};

use crate::target::Target;

/// How many clients come and go before the first count: a process opens some things only once.
const WARM_UP: usize = 3;

/// How many clients come and go between the two counts.
const ROUNDS: usize = 30;

/// A waiter is dropped after this.
const WAIT: Duration = Duration::from_millis(5);

/// How often the process's resources are counted; sockets are closed in the background.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Opens and shuts down clients of `address` that hold `name`, wait for it and give up.
///
/// Fails if descriptors or threads stay open.
pub(super) async fn client_churn(target: &dyn Target, address: &str, name: &LockName) -> Outcome {
    for _ in 0..WARM_UP {
        round(target, address, name).await?;
    }
    let before = resources();
    for _ in 0..ROUNDS {
        round(target, address, name).await?;
    }
    let clock = Clock::boottime();
    let end = clock.now().after(target.tolerance());
    loop {
        let after = resources();
        if after.0 <= before.0 && after.1 <= before.1 {
            return Ok(());
        }
        ensure!(
            clock.now() < end,
            "descriptors and threads were {before:?}, are {after:?}"
        );
        tokio::time::sleep(POLL_EVERY).await;
    }
}

async fn round(target: &dyn Target, address: &str, name: &LockName) -> Outcome {
    let holder = Locker::builder(target.connect(address).await?).build()?;
    let waiter = Locker::builder(target.connect(address).await?).build()?;
    let guard = holder.acquire(name).await?;
    let waited = tokio::time::timeout(WAIT, waiter.acquire(name).wait_forever()).await;
    ensure!(waited.is_err(), "granted beside another guard: {waited:?}");
    guard.release().await?;
    drop(waiter.acquire(name).await?);
    holder.shutdown(target.tolerance()).await?;
    Ok(waiter.shutdown(target.tolerance()).await?)
}

/// Open descriptors and threads; none where the system does not list them.
fn resources() -> (usize, usize) {
    let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
    (count("/proc/self/fd"), count("/proc/self/task"))
}
