//! From a target to its trials, and the entry point of a test binary.

use std::{process::ExitCode, sync::Arc, time::Duration};

use dlock_verify::support::{Outcome, tested};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::{
    case::{Case, Place, Profile, Rig},
    clauses,
    target::Target,
    worker,
};

/// No case takes longer; one that does hangs.
const CASE_MAX: Duration = Duration::from_secs(180);

/// Threads of a case's runtime, unless it wants one: enough for two tasks to run at the same time.
const WORKER_THREADS: usize = 2;

/// How many cases run at once unless `--test-threads` says otherwise: they mostly wait, so more than
/// there are processors, but each process and runtime more makes the machine's pauses longer.
const THREADS: usize = 6;

/// Runs the [`suite`] of each target as the arguments of the program say, which are those of every
/// Rust test binary; or serves as a worker process, when started as one.
///
/// The targets are dropped before it returns, so a target may stop its server then.
#[must_use]
pub fn main(targets: Vec<Arc<dyn Target>>) -> ExitCode {
    if let Some(code) = worker::serve_if_asked(&targets) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = targets
        .iter()
        .flat_map(|target| tested(target.name(), target.available(), suite(target.clone())))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that apply to `target`, as trials named `target::clause::case`.
///
/// Each trial has a runtime, clients, lock names and, where the target has such, a place in the
/// store of its own, so all of them can run at once. When a case is done, everything that it opened
/// is shut down, and what is then left in the store or the runtime is a failure (K12).
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
            let address = match case.place {
                Place::Shared => target.address().await?,
                Place::Alone => target.address_alone().await?,
            };
            let rig = Rig::new(target.clone(), address.clone(), case.place);
            let ran = (case.run)(&rig).await;
            let outcome = match ran {
                Ok(()) => rig.finish().await,
                failed => failed,
            };
            target.leave(&address);
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
