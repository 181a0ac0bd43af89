//! The life of this process as a worker.

use std::{env, process::ExitCode, sync::Arc};

use dlock_core::{Clock, Locker, Result};
use tokio::{
    runtime::{Builder, Handle},
    task::JoinSet,
};

use super::{
    lockers::{Connect, Lockers},
    program::Program,
    protocol::{Assignment, Report, WORKER_ENV},
    remote::Remote,
    resources::Resources,
    task::Task,
};
use crate::{
    chaos::lag::Watchdog,
    history::{Event, EventKind, Recorder},
    random::Random,
    support::Outcome,
    worker::{die_with_parent, log_error, say},
};

/// A shorter lag of a worker is within the tolerance of the checks.
const LAG_SAID_MIN_NS: u64 = 20_000_000;

/// Runs this process as a worker if a chaos run has started it as one; call it first in `main`.
///
/// `connect` makes a locker of a URL; the worker calls it again after a failure.
pub fn serve_if_worker<C, F>(connect: C) -> Option<ExitCode>
where
    C: Fn(String) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Locker>> + Send + 'static,
{
    let assignment = env::var(WORKER_ENV).ok()?;
    let outcome = serde_json::from_str(&assignment)
        .map_err(Into::into)
        .and_then(|assignment| serve(&assignment, Box::new(move |url| Box::pin(connect(url)))));
    match outcome {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failed) => {
            log_error(failed.message().unwrap_or_default());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve(assignment: &Assignment, connect: Connect) -> Outcome {
    die_with_parent()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work(assignment, connect))
}

async fn work(assignment: &Assignment, connect: Connect) -> Outcome {
    let Assignment {
        url,
        client,
        worker,
        seed,
        ttl,
        prefix,
        load,
    } = assignment;
    let runtime = Handle::current();
    let remote = Remote::open(load.tasks, move || {
        let _entered = runtime.enter();
        say(&Report::Resources(Resources::count()));
    });
    let (remote, lockers) = (
        Arc::new(remote),
        Arc::new(Lockers::new(url.clone(), connect)),
    );
    let recorder = Recorder::new(*client, |event| say(&Report::Event(event)));
    let (clock, number) = (Clock::boottime(), *client);
    let _watchdog = Watchdog::start(move |by| {
        if by > LAG_SAID_MIN_NS {
            let at = clock.now().as_nanos();
            say(&Report::Event(Event::new(
                at,
                number,
                EventKind::Lagged { by },
            )));
        }
    });
    let names = load.names(prefix);
    let names: Vec<_> = load
        .of_worker(*worker)
        .iter()
        .map(|name| names[*name].clone())
        .collect();
    let mut random = Random::new(*seed);
    let mut tasks = JoinSet::new();
    for number in 0..load.tasks {
        let program = Program::new(random.fork(), names.clone(), load.hot, *ttl);
        let task = Task {
            number,
            program,
            ttl: *ttl,
            lockers: lockers.clone(),
            recorder: recorder.clone(),
            remote: remote.clone(),
        };
        tasks.spawn(task.run());
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    lockers.close().await;
    Ok(())
}
