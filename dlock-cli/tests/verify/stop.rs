//! Stopping `dlock verify` at a moment that its store shows.

use std::time::Duration;

use dlock_verify::{
    ensure,
    support::{Outcome, within},
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use crate::support::Ran;

/// The next phase of a verification begins within this time.
const PHASE_MAX: Duration = Duration::from_secs(60);

/// How often the store is read until then.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// A verification that is stopped ends within this time: its cases end in 4 s, its entries are removed by name.
const STOPPED_MAX: Duration = Duration::from_secs(15);

/// Stops a verification, which ends soon and says that it has left no locks.
pub(crate) async fn stopped(running: Child, signal: Signal) -> Outcome<Ran> {
    let pid = running
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    kill_process(pid.ok_or("it has ended")?, signal)?;
    let ended = within(STOPPED_MAX, "the end", running.wait_with_output());
    let ran = Ran::of(ended.await??)?;
    ensure!(ran.code == 128 + signal.as_raw(), "{ran:#?}");
    ensure!(ran.stderr.contains("no locks are left"), "{ran:#?}");
    ensure!(ran.stdout.is_empty(), "{ran:#?}");
    Ok(ran)
}

/// Waits until the next phase of a verification has begun, as the store shows it.
pub(crate) async fn begun(
    what: &str,
    mut has_begun: impl AsyncFnMut() -> Outcome<bool>,
) -> Outcome {
    let polling = async {
        while !has_begun().await? {
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok(())
    };
    within(PHASE_MAX, what, polling).await?
}
