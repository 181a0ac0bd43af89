//! Worker processes: the test binary, started again with a task.
//!
//! A worker reads orders from its standard input and writes reports to its standard output, one JSON
//! value a line. It dies with its parent, whose death ends its standard input; and on Linux, where a
//! process that is stopped can be killed so, by a signal.

mod client_churn;
mod pipe;
mod process;
mod task;
mod workload;

use std::{env, process::ExitCode, sync::Arc};

#[cfg(target_os = "linux")]
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

pub(crate) use self::{
    process::{Worker, WorkerStart},
    task::Task,
    workload::{Contest, increment},
};

use self::pipe::Pipe;
use dlock_verify::{
    history::{Event, Recorder},
    support::Outcome,
};

use crate::target::Target;

/// Set for a worker: its [`Assignment`] as JSON.
const WORKER_ENV: &str = "DLOCK_CONFORMANCE_WORKER";

/// What a worker is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    target: String,
    address: String,
    client: u32,
    task: Task,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// Something happened.
    Event(Event),
    /// It reads the register, or writes to it.
    Access {
        name: String,
        token: u64,
        wrote: Option<u64>,
    },
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The register's answer to its access.
    Answer(Option<u64>),
    /// Stop holding.
    Release,
}

/// Runs this process as a worker if it was started as one.
pub(crate) fn serve_if_asked(targets: &[Arc<dyn Target>]) -> Option<ExitCode> {
    let assignment = env::var(WORKER_ENV).ok()?;
    let outcome = serde_json::from_str(&assignment)
        .map_err(Into::into)
        .and_then(|assignment: Assignment| serve(&assignment, targets));
    match outcome {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failed) => {
            pipe::complain(failed.message().unwrap_or_default());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve(assignment: &Assignment, targets: &[Arc<dyn Target>]) -> Outcome {
    #[cfg(target_os = "linux")]
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let target = targets
        .iter()
        .find(|target| target.name() == assignment.target);
    let target = target.ok_or_else(|| format!("no target {:?}", assignment.target))?;
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let pipe = Pipe::open();
            let recorder =
                Recorder::new(assignment.client, |event| pipe::say(&Report::Event(event)));
            let Assignment { address, task, .. } = assignment;
            task.run(&**target, address, &recorder, &pipe).await
        })
}
