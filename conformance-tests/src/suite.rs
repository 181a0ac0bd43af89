//! The trials of a target, and the entry point of a test binary.

use std::{process::ExitCode, sync::Arc, time::Duration};

use dlock_verify::support::{Outcome, if_available};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::{
    case::{Case, CaseContext, Placement, Profile},
    clauses,
    target::Target,
    worker,
};

/// The bound of a case; a case that takes longer hangs.
const CASE_MAX: Duration = Duration::from_secs(180);

/// Threads of a case's runtime, unless it wants one: enough for two tasks to run at the same time.
const WORKER_THREADS: usize = 2;

/// How many cases run at once by default: more than there are processors, as cases mostly wait.
///
/// Each further process and runtime makes the machine's pauses longer.
const THREADS: usize = 6;

/// Runs the [`suite`] of each target, or serves as a worker process when started as one.
///
/// The program takes the arguments of every Rust test binary.
///
/// The targets are dropped before it returns, so a target may stop its server in its `Drop`.
#[must_use]
pub fn main(targets: Vec<Arc<dyn Target>>) -> ExitCode {
    if let Some(code) = worker::serve_if_worker(&targets) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = targets
        .iter()
        .flat_map(|target| if_available(target.name(), target.available(), suite(target.clone())))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that apply to `target`, as trials named `target::clause::case`.
///
/// Each trial has its own runtime, clients, lock names and address, so all can run at once. After a case,
/// everything that it opened is shut down; a residue in the store or the runtime fails it (K12).
#[must_use]
pub fn suite(target: Arc<dyn Target>) -> Vec<Trial> {
    let profile = Profile::of(&*target);
    let mut trials = Vec::new();
    for (clause, case) in clauses::all() {
        if (case.needs)(&profile) {
            let name = format!("{}::{clause}::{}", target.name(), case.name);
            let target = target.clone();
            trials.push(Trial::test(name, move || run(case, target)));
        }
    }
    trials
}

fn run(case: Case, target: Arc<dyn Target>) -> Outcome {
    let runtime = runtime(&case)?;
    let outcome = runtime.block_on(async {
        let whole = async {
            let address = match case.placement {
                Placement::Shared => target.address().await?,
                Placement::Dedicated => target.dedicated_address().await?,
            };
            let context = CaseContext::new(target.clone(), address.clone(), case.placement);
            let ran = (case.run)(&context).await;
            let outcome = match ran {
                Ok(()) => context.finish().await,
                failed => failed,
            };
            target.dispose(&address);
            outcome
        };
        let late = |_| Failed::from(format!("it hangs: not done after {CASE_MAX:?}"));
        timeout(CASE_MAX, whole).await.map_err(late)?
    });
    // Not by dropping it: a case that failed may have left a thread that is stuck.
    runtime.shutdown_background();
    outcome
}

fn runtime(case: &Case) -> Result<Runtime, Failed> {
    let mut builder = if case.one_thread {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    Ok(builder
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()?)
}
