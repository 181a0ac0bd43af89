//! A short run of many tasks.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Error, ErrorKind, Result};
use tokio::task::JoinSet;

use crate::workload::Cycle;

/// The tasks that run side by side.
pub(crate) type Tasks = Vec<Box<dyn Cycle>>;

/// The result of one slice.
pub(crate) struct Slice {
    /// How long each cycle took.
    pub(crate) durations: Vec<Duration>,
    /// The time from the start to the end of the last cycle.
    pub(crate) took: Duration,
}

impl Slice {
    /// Cycles a second.
    pub(crate) fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let count = self.durations.len() as f64;
        count / self.took.as_secs_f64()
    }
}

/// Runs all `tasks` at a time, until each has ended the cycle that it is in after `run_for`: at least
/// one.
///
/// # Errors
///
/// The first that a cycle has; the other tasks end then, too, and `tasks` is empty.
///
/// # Cancel safety
///
/// Dropping the future ends the tasks; `tasks` is empty then.
pub(crate) async fn run(tasks: &mut Tasks, run_for: Duration) -> Result<Slice> {
    let clock = Clock::boottime();
    let start = clock.now();
    let end = start.after(run_for);
    let mut running = JoinSet::new();
    for task in tasks.drain(..) {
        running.spawn(one_task(task, clock.clone(), end));
    }
    let mut durations = Vec::new();
    while let Some(task) = running.join_next().await {
        let defect = |error| Error::new(ErrorKind::Internal, "a task died").with_source(error);
        let (task, its_durations) = task.map_err(defect)??;
        durations.extend(its_durations);
        tasks.push(task);
    }
    let took = clock.now().since(start);
    Ok(Slice { durations, took })
}

async fn one_task(
    mut task: Box<dyn Cycle>,
    clock: Clock,
    end: BootInstant,
) -> Result<(Box<dyn Cycle>, Vec<Duration>)> {
    let mut durations = Vec::new();
    let mut before = clock.now();
    loop {
        task.cycle().await?;
        let after = clock.now();
        durations.push(after.since(before));
        if after >= end {
            return Ok((task, durations));
        }
        before = after;
        // A cycle that never waits would keep the other tasks from running.
        tokio::task::coop::consume_budget().await;
    }
}
