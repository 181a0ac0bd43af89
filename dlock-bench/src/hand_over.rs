//! From the release in one process to the grant in another.
//!
//! Two processes take turns on one name. Each holds it for [`HOLD`] and comes back after [`PAUSE`], so
//! that the other one is waiting when it releases. All times are of the machine's one boot-time clock.

use std::{process::Stdio, time::Duration};

use dlock_core::{Clock, Error, ErrorKind, Locker, Moment, Result};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;

use crate::{Summary, measure::Durations};

/// How long each process holds the lock: long enough for the other one to be waiting.
const HOLD: Duration = Duration::from_millis(4);

/// How long it then stays away.
const PAUSE: Duration = Duration::from_millis(2);

/// What is said of a store that one process alone can reach.
pub const NEEDS_PROCESSES: &str = "no hand-over: other processes cannot reach this store";

/// One hold, in nanoseconds on the machine's boot-time clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Turn {
    process: u32,
    granted_ns: u64,
    releasing_ns: u64,
}

/// Takes turns with the process that `worker` starts, for `run_for`; `None` for a store in this
/// process's memory. The worker must call [`worker`] with the URL and the name that it is given as
/// its last two arguments, and the milliseconds before them.
///
/// # Errors
///
/// `Internal` when the worker cannot be started or fails; whatever the store answers.
///
/// # Cancel safety
///
/// Dropping the future ends the worker.
pub async fn measure(
    locks: &Locker,
    worker: std::process::Command,
    url: &str,
    run_for: Duration,
) -> Result<Option<Summary>> {
    if locks.capabilities().backend == "memory" {
        return Ok(None);
    }
    let name = format!("dlock-bench/hand-over/{}", std::process::id());
    let mut command = tokio::process::Command::from(worker);
    command
        .arg(run_for.as_millis().to_string())
        .arg(url)
        .arg(&name);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let failed =
        |error| Error::new(ErrorKind::Internal, "the second process failed").with_source(error);
    let mut child = command.spawn().map_err(failed)?;
    let ours = take_turns(locks, &name, run_for).await;
    let mut theirs = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        stdout.read_to_string(&mut theirs).await.map_err(failed)?;
    }
    child.wait().await.map_err(failed)?;
    let theirs: Vec<Turn> = serde_json::from_str(&theirs).map_err(|error| {
        Error::new(ErrorKind::Internal, "the second process failed").with_source(error)
    })?;
    let mut turns = ours?;
    turns.extend(theirs);
    Ok(sum_up(turns, run_for))
}

/// The second process: takes turns on `name` and prints them.
///
/// # Errors
///
/// Whatever the store answers.
///
/// # Cancel safety
///
/// Dropping the future releases what is held in the background.
pub async fn worker(url: &str, name: &str, run_for: Duration) -> Result<String> {
    let locks = dlock::connect(url).await?;
    let turns = take_turns(&locks, name, run_for).await?;
    let defect =
        |error| Error::new(ErrorKind::Internal, "cannot print the turns").with_source(error);
    serde_json::to_string(&turns).map_err(defect)
}

async fn take_turns(locks: &Locker, name: &str, run_for: Duration) -> Result<Vec<Turn>> {
    let clock = Clock::boottime();
    let end = clock.now().after(run_for);
    let mut turns = Vec::new();
    while clock.now() < end {
        let guard = locks.acquire(name).await?;
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
        let released = Moment::from_nanos(pair[0].releasing_ns);
        durations.record(Moment::from_nanos(pair[1].granted_ns).since(released));
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
