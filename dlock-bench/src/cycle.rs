//! An uncontended acquire and release.

use std::time::Duration;

use dlock_core::{AttemptId, Clock, Error, ErrorKind, Locker, Moment, Result};

use crate::{Summary, measure::Durations};

/// Takes and releases locks with `tasks` tasks, each on a name of its own, for `run_for` after a
/// tenth of it as warm-up.
///
/// # Errors
///
/// The first that an acquire or release has; the other tasks end then, too.
///
/// # Cancel safety
///
/// Dropping the future ends the tasks; what they hold is released.
pub async fn measure(locks: &Locker, tasks: usize, run_for: Duration) -> Result<Summary> {
    let clock = Clock::boottime();
    let start = clock.now().after(run_for / 10);
    let end = start.after(run_for);
    let run = run_id(locks).await?;
    let mut running = tokio::task::JoinSet::new();
    for task in 0..tasks {
        let name = format!("dlock-bench/{run}/{task}");
        running.spawn(one_task(locks.clone(), clock.clone(), name, start, end));
    }
    let mut all = Durations::new();
    while let Some(task) = running.join_next().await {
        let defect = |error| Error::new(ErrorKind::Internal, "a task died").with_source(error);
        all.add(&task.map_err(defect)??);
    }
    let nothing = || Error::new(ErrorKind::Unavailable, "no cycle ended in the time given");
    all.sum_up(run_for).ok_or_else(nothing)
}

async fn one_task(
    locks: Locker,
    clock: Clock,
    name: String,
    start: Moment,
    end: Moment,
) -> Result<Durations> {
    let name = dlock_core::LockName::new(&name)?;
    let mut durations = Durations::new();
    loop {
        let before = clock.now();
        if before >= end {
            return Ok(durations);
        }
        locks.acquire(&name).await?.release().await?;
        if before >= start {
            durations.record(clock.now().since(before));
        }
    }
}

/// A part of names that no other run uses: two benchmarks of one store must not wait for each other.
async fn run_id(locks: &Locker) -> Result<AttemptId> {
    let guard = locks.acquire("dlock-bench").await?;
    let id = guard.id();
    guard.release().await?;
    Ok(id)
}
