//! The life of this process as a worker.

use std::{env, process::ExitCode, sync::Arc};

use dlock_verify::{
    history::Recorder,
    support::Outcome,
    worker::{die_with_parent, log_error, say},
};
use tokio::runtime::Builder;

use super::{
    pipe::Pipe,
    protocol::{Assignment, Report, WORKER_ENV},
};
use crate::target::Target;

/// Runs this process as a worker if it was started as one.
pub(crate) fn serve_if_worker(targets: &[Arc<dyn Target>]) -> Option<ExitCode> {
    let assignment = env::var(WORKER_ENV).ok()?;
    let outcome = serde_json::from_str(&assignment)
        .map_err(Into::into)
        .and_then(|assignment: Assignment| serve(&assignment, targets));
    match outcome {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failed) => {
            log_error(failed.message().unwrap_or_default());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve(assignment: &Assignment, targets: &[Arc<dyn Target>]) -> Outcome {
    die_with_parent()?;
    let target = targets
        .iter()
        .find(|target| target.name() == assignment.target);
    let target = target.ok_or_else(|| format!("no target {:?}", assignment.target))?;
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let pipe = Pipe::open();
            let recorder = Recorder::new(assignment.client, |event| say(&Report::Event(event)));
            let Assignment { address, task, .. } = assignment;
            task.run(&**target, address, &recorder, &pipe).await
        })
}
