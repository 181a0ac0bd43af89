//! The life of this process as a worker.

use std::{env, process::ExitCode, time::Duration};

use dlock_core::{Error, ErrorKind, LockName, Locker, Mode, backend::Wait};
use dlock_verify::{
    history::{RecordedGuard, Recorder},
    random::Random,
    support::Outcome,
    worker::{die_with_parent, log_error, read_orders, say},
};
use tokio::{runtime::Builder, sync::watch, task::JoinSet, time::sleep};

use super::protocol::{Assignment, NAMES, Order, Report, TTL, WORKER_ENV};

/// Tasks of a worker that lock at the same time.
const TASKS: u32 = 2;

/// A task holds a lock for up to so long, and pauses for up to so long after it.
const HOLD_MAX_US: u64 = 4_000;
const PAUSE_MAX_US: u64 = 8_000;

/// The pause after an acquire or a connect that failed.
const AGAIN: Duration = Duration::from_millis(50);

/// The end waits for so long for its releases.
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// Runs this process as a worker if it was started as one.
pub(crate) fn serve_if_worker() -> Option<ExitCode> {
    let assignment = env::var(WORKER_ENV).ok()?;
    let outcome = serde_json::from_str(&assignment)
        .map_err(Into::into)
        .and_then(|assignment| serve(&assignment));
    match outcome {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failed) => {
            log_error(failed.message().unwrap_or_default());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve(assignment: &Assignment) -> Outcome {
    die_with_parent()?;
    let (sender, ends) = watch::channel(false);
    read_orders(move |Order::End| {
        sender.send_replace(true);
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work(assignment, ends))
}

async fn work(assignment: &Assignment, mut ends: watch::Receiver<bool>) -> Outcome {
    let recorder = Recorder::new(assignment.client, |event| say(&Report::Event(event)));
    let mut ended = ends.clone();
    let locker = tokio::select! {
        locker = connect(assignment) => locker,
        _ = ends.wait_for(|ends| *ends) => return Ok(()),
    };
    let mut random = Random::new(assignment.seed);
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let task = Task {
            locker: locker.clone(),
            recorder: recorder.clone(),
            random: random.fork(),
            ends: ended.clone(),
            is_forgotten: assignment.is_forgotten,
        };
        tasks.spawn(task.run());
    }
    let _ = ended.wait_for(|ends| *ends).await;
    while let Some(task) = tasks.join_next().await {
        task?;
    }
    // What is left then ends by time.
    let _ = locker.shutdown(SHUTDOWN_MAX).await;
    Ok(())
}

/// Connects until that succeeds.
async fn connect(assignment: &Assignment) -> Locker {
    loop {
        match dlock::connect(&*assignment.url).await {
            Ok(locker) => return locker,
            Err(error) => explain(&error, assignment.is_forgotten),
        }
        sleep(AGAIN).await;
    }
}

struct Task {
    locker: Locker,
    recorder: Recorder,
    random: Random,
    ends: watch::Receiver<bool>,
    is_forgotten: bool,
}

impl Task {
    async fn run(mut self) {
        while !*self.ends.borrow() {
            let mut ends = self.ends.clone();
            let taken = tokio::select! {
                biased;
                taken = self.take() => taken,
                // The acquire is dropped, as users drop theirs.
                _ = ends.wait_for(|ends| *ends) => return,
            };
            match taken {
                Some(guard) => self.hold(guard).await,
                None => sleep(AGAIN).await,
            }
        }
    }

    async fn take(&mut self) -> Option<RecordedGuard> {
        let chosen = usize::try_from(self.random.below(NAMES.len() as u64)).unwrap_or_default();
        let name = LockName::new(NAMES[chosen]).ok()?;
        let acquire = |note: String| {
            let acquire = self.locker.acquire(&name).ttl(TTL);
            acquire.wait_forever().note(&note)
        };
        let (mode, wait) = (Mode::Exclusive, Wait::UntilCancelled);
        let recorder = &self.recorder;
        let result = recorder.acquire_noted(&name, mode, wait, acquire).await;
        result
            .map_err(|error| explain(&error, self.is_forgotten))
            .ok()
    }

    async fn hold(&mut self, guard: RecordedGuard) {
        sleep(Duration::from_micros(self.random.below(HOLD_MAX_US))).await;
        if guard.report() {
            // One that is not confirmed goes on in the background.
            let _ = guard.release().await;
        } else {
            guard.lost();
        }
        sleep(Duration::from_micros(self.random.below(PAUSE_MAX_US))).await;
    }
}

/// Reports an error that no fault explains.
fn explain(error: &Error, is_forgotten: bool) {
    match error.kind() {
        // A loss is a grant that came too late.
        ErrorKind::Contended | ErrorKind::Unavailable | ErrorKind::Lost => {}
        _ if is_forgotten => say(&Report::Refused(error.to_string())),
        _ => say(&Report::Unexpected(error.to_string())),
    }
}
