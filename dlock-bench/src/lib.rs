//! Measures stores of locks through dlock's own API, as their users see them.
//!
//! * cycle: an uncontended acquire and release, by one task and by many on names of their own. Beside
//!   it, in turns, the floor: the store's driver alone, with no safety at all; and the server's own
//!   lock, if it has one.
//! * [`hand_over`]: from the release in one process to the grant in another, on a contended name.
//!   Beside it an exchange with the server: a round trip, or a durable write.
//!
//! Times on a busy machine wander; compare figures of one run only.

mod baselines;
mod cycle;
pub mod hand_over;
mod interleave;
mod measure;
mod report;
mod round_trip;
mod slice;
mod workload;

use std::time::Duration;

use dlock::config::Config;
use dlock_core::Result;

use crate::baselines::{Floor, Found, OwnLock, Server};

pub use crate::{
    measure::Summary,
    report::{Baseline, Report, Row},
};

/// How long and how wide to measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// How long each workload runs, after a tenth of it as warm-up; a floor beside it as long again.
    pub run_for: Duration,
    /// The numbers of tasks for the cycle, each task on a name of its own.
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
/// The errors of the store; nothing is left held.
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
    let Found { floor, note } = baselines::open(config).await?;
    let mut report = Report::new(config.to_string(), locks.capabilities().backend);
    report.floor = floor.as_ref().map(|floor| floor.what());
    let own_lock = floor.as_ref().and_then(|floor| floor.own_lock());
    report.own_lock = own_lock.map(OwnLock::what);
    report.notes.extend(note.map(str::to_owned));
    for &tasks in &plan.tasks {
        step(format!("cycle, {tasks} at a time"));
        let row = cycle::measure(&locks, floor.as_deref(), tasks, plan.run_for).await?;
        report.rows.push(row);
    }
    step("hand-over between two processes".to_owned());
    match hand_over::measure(&locks, worker, plan.run_for).await? {
        Some(summary) => {
            let server = floor.as_deref().and_then(Floor::server);
            let row = beside_round_trip(Row::new("hand-over", 2, summary), server, plan).await?;
            report.rows.push(row);
        }
        None => report.notes.push(hand_over::NONE.to_owned()),
    }
    locks.shutdown(SHUTDOWN_MAX).await?;
    Ok(report)
}

/// Adds an exchange with the server to the row if there is one.
async fn beside_round_trip(row: Row, server: Option<&dyn Server>, plan: &Plan) -> Result<Row> {
    let Some(server) = server else {
        return Ok(row);
    };
    // Between two hand-overs a holder leaves the server alone for as long.
    let round_trip = round_trip::measure(server, hand_over::HOLD, plan.run_for / 10).await?;
    let ratio = row.summary.median() / round_trip.median();
    Ok(row.beside(server.unit(), round_trip, ratio, None))
}

/// How long the locker may take to end after a measurement.
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);
