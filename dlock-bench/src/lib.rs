//! Measures stores of locks through dlock's own API, as their users see them.
//!
//! * [`cycle`]: an uncontended acquire and release, by one task and by many on names of their own.
//! * [`hand_over`]: from the release in one process to the grant in another, on a contended name.
//!
//! Times on a busy machine wander; compare figures of one run only.

pub mod cycle;
pub mod hand_over;
mod measure;
mod report;

use std::time::Duration;

use dlock::config::Config;
use dlock_core::Result;

pub use crate::{
    measure::Summary,
    report::{Report, Row},
};

/// How long and how wide to measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// How long each workload runs, after a tenth of it as warm-up.
    pub run_for: Duration,
    /// With how many tasks the cycle is measured, each on a name of its own.
    pub tasks: Vec<usize>,
}

impl Default for Plan {
    /// Two seconds each, one task and 64.
    fn default() -> Self {
        Self {
            run_for: Duration::from_secs(2),
            tasks: vec![1, 64],
        }
    }
}

impl Plan {
    /// Runs each workload for `run_for`.
    #[must_use]
    pub fn run_for(self, run_for: Duration) -> Self {
        Self { run_for, ..self }
    }

    /// How many workloads there are: the steps of a progress bar.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.tasks.len() + 1
    }
}

/// Measures the store that `config` names; calls `step` with the name of each workload before it
/// runs.
///
/// `worker` is the second process of the hand-over: see [`hand_over::measure`].
///
/// # Errors
///
/// Whatever the store answers; nothing is left held.
///
/// # Cancel safety
///
/// Dropping the future releases what is held in the background and ends the worker.
pub async fn run(
    config: &Config,
    plan: &Plan,
    worker: std::process::Command,
    mut step: impl FnMut(String),
) -> Result<Report> {
    let locks = dlock::connect(config.clone()).await?;
    let mut rows = Vec::new();
    for &tasks in &plan.tasks {
        step(format!("cycle, {tasks} at a time"));
        rows.push(Row::new(
            "cycle",
            tasks,
            cycle::measure(&locks, tasks, plan.run_for).await?,
        ));
    }
    step("hand-over between two processes".to_owned());
    let hand_over = hand_over::measure(&locks, worker, plan.run_for).await?;
    let note = hand_over.is_none().then(|| hand_over::NONE.to_owned());
    rows.extend(hand_over.map(|summary| Row::new("hand-over", 2, summary)));
    locks.shutdown(SHUTDOWN_MAX).await?;
    Ok(Report::new(
        config.to_string(),
        locks.capabilities().backend,
        rows,
        note,
    ))
}

/// How long the locker may take to end after a measurement.
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);
