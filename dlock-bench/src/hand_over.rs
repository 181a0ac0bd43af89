//! The hand-over: from the release in one process to the grant in another.
//!
//! Two processes take turns on one name. Each holds it for [`HOLD`] and comes back after [`PAUSE`], so
//! that the other one is waiting when it releases. All times are of the machine's one boot-time clock.

use std::{process::Stdio, time::Duration};

use dlock_core::{BootInstant, Clock, Error, ErrorKind, Locker, Result};
use serde::{Deserialize, Serialize};

use crate::{Summary, measure::Durations};

/// How long each process holds the lock: long enough for the other one to be waiting.
pub(crate) const HOLD: Duration = Duration::from_millis(4);

/// How long it waits for its turn, instead of the configured wait.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long it then stays away.
const PAUSE: Duration = Duration::from_millis(2);

/// The note of a run without a hand-over to measure.
pub(crate) const NONE: &str =
    "no hand-over: there was none, or other processes cannot reach this store";

/// One hold, in nanoseconds on the machine's boot-time clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Turn {
    process: u32,
    granted_ns: u64,
    releasing_ns: u64,
}

/// Takes turns with the process that `worker` starts, for `run_for`; `None` for a store in this
/// process's memory.
///
/// `worker` is a command that connects to the same store and calls [`worker`](fn@worker) with its last two
/// arguments. They are the milliseconds to run for and the name of the lock.
///
/// # Errors
///
/// `Internal` when the worker cannot be started or fails; the errors of the store.
///
/// # Cancel safety
///
/// Dropping the future ends the worker.
pub async fn measure(
    locks: &Locker,
    worker: std::process::Command,
    run_for: Duration,
) -> Result<Option<Summary>> {
    if locks.capabilities().backend == "memory" {
        return Ok(None);
    }
    let name = format!("dlock-bench/hand-over/{}", std::process::id());
    let mut command = tokio::process::Command::from(worker);
    command.arg(run_for.as_millis().to_string()).arg(&name);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let child = command
        .spawn()
        .map_err(|error| failed("cannot start", error))?;
    let (ours, theirs) = tokio::join!(take_turns(locks, &name, run_for), child.wait_with_output());
    let theirs = theirs.map_err(|error| failed("cannot read", error))?;
    let mut turns = ours?;
    let theirs: Vec<Turn> = serde_json::from_slice(&theirs.stdout)
        .map_err(|error| failed("cannot understand", error))?;
    turns.extend(theirs);
    Ok(sum_up(turns, run_for))
}

/// Runs the second process: takes turns on `name` and returns them as one line of JSON, to be printed.
///
/// # Errors
///
/// The errors of the store.
///
/// # Cancel safety
///
/// Dropping the future releases what is held in the background.
pub async fn worker(locks: &Locker, name: &str, run_for: Duration) -> Result<String> {
    let turns = take_turns(locks, name, run_for).await?;
    serde_json::to_string(&turns).map_err(|error| failed("cannot print", error))
}

fn failed(what: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Internal, format!("{what} the second process")).with_source(error)
}

async fn take_turns(locks: &Locker, name: &str, run_for: Duration) -> Result<Vec<Turn>> {
    let clock = Clock::boottime();
    let end = clock.now().after(run_for);
    let mut turns = Vec::new();
    while clock.now() < end {
        let guard = locks.acquire(name).wait(WAIT_MAX).await?;
        let granted_ns = clock.now().as_nanos();
        tokio::time::sleep(HOLD).await;
        let releasing_ns = clock.now().as_nanos();
        guard.release().await?;
        turns.push(Turn {
            process: std::process::id(),
            granted_ns,
            releasing_ns,
        });
        tokio::time::sleep(PAUSE).await;
    }
    Ok(turns)
}

/// Counts the grants that follow a release of the other process.
fn sum_up(mut turns: Vec<Turn>, run_for: Duration) -> Option<Summary> {
    turns.sort_by_key(|turn| turn.granted_ns);
    let mut durations = Durations::new();
    for pair in turns
        .windows(2)
        .filter(|pair| pair[0].process != pair[1].process)
    {
        let released = BootInstant::from_nanos(pair[0].releasing_ns);
        durations.record(BootInstant::from_nanos(pair[1].granted_ns).since(released));
    }
    durations.sum_up(run_for)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_grants_after_the_other_process_count() {
        let turn = |process, granted_ns, releasing_ns| Turn {
            process,
            granted_ns,
            releasing_ns,
        };
        let turns = vec![
            turn(2, 1_500, 2_000),
            turn(1, 0, 1_000),
            turn(2, 2_100, 2_200),
        ];
        let summary = sum_up(turns, Duration::from_secs(1)).expect("one hand-over");
        assert_eq!(summary.count, 1);
        assert!(summary.median_ns.abs_diff(500) <= 1);
    }
}
