//! A worker as its parent sees it.

use std::{env, sync::Arc};

use dlock_core::Clock;
use dlock_verify::{
    history::{Event, EventKind, FencedRegister, History},
    support::Outcome,
    worker::WorkerProcess,
};
use tokio::process::Command;

use super::protocol::{Assignment, Order, Report, Task, WORKER_ENV};

/// The arguments of a worker's start.
pub(crate) struct WorkerStart {
    pub(crate) target: String,
    pub(crate) address: String,
    pub(crate) client: u32,
    pub(crate) task: Task,
    pub(crate) history: Arc<History>,
    pub(crate) register: Arc<FencedRegister>,
}

/// A worker process; killed when dropped.
pub(crate) struct Worker {
    process: WorkerProcess,
    client: u32,
    history: Arc<History>,
}

impl WorkerStart {
    pub(crate) fn start(self) -> Outcome<Worker> {
        let Self {
            target,
            address,
            client,
            task,
            history,
            register,
        } = self;
        let assignment = Assignment {
            target,
            address,
            client,
            task,
        };
        let mut command = Command::new(env::current_exe()?);
        command.env(WORKER_ENV, serde_json::to_string(&assignment)?);
        let events = history.clone();
        let process = WorkerProcess::start(command, move |report| match report {
            Report::Event(event) => {
                events.record(event);
                None
            }
            Report::Access { name, token, wrote } => {
                Some(Order::Answer(register.access(&name, token, wrote)))
            }
        })?;
        Ok(Worker {
            process,
            client,
            history,
        })
    }
}

impl Worker {
    /// The number of its client in the history.
    pub(crate) fn client(&self) -> u32 {
        self.client
    }

    /// Waits until it has been granted `count` locks. An error if it has ended before that.
    pub(crate) async fn granted(&self, count: usize) -> Outcome {
        let granted = |event: &Event| {
            event.client == self.client && matches!(event.kind, EventKind::Granted { .. })
        };
        tokio::select! {
            // A worker may end after its last grant.
            biased;
            _ = self.history.until(count, granted) => Ok(()),
            errors = self.process.ended() => {
                Err(format!("the worker ended before its grant: {errors}").into())
            }
        }
    }

    /// Orders the release.
    pub(crate) async fn release(&self) -> Outcome {
        self.process.order(&Order::Release).await
    }

    /// Stops it where it is (SIGSTOP).
    pub(crate) fn stop(&self) -> Outcome {
        self.record(EventKind::Stopped);
        self.process.stop()
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&self) -> Outcome {
        self.process.resume()?;
        self.record(EventKind::Resumed);
        Ok(())
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(self) -> Outcome {
        let at = Clock::boottime().now().as_nanos();
        self.process.kill().await?;
        let killed = Event::new(at, self.client, EventKind::Killed);
        self.history.record(killed);
        Ok(())
    }

    fn record(&self, kind: EventKind) {
        let at = Clock::boottime().now().as_nanos();
        self.history.record(Event::new(at, self.client, kind));
    }

    /// Waits until it has done its task.
    pub(crate) async fn finished(self) -> Outcome {
        self.process.finished().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_that_ends_before_its_grant_has_the_reason() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such store >&2; exit 3"]);
        let process = WorkerProcess::start(command, |_: Report| None::<Order>).unwrap();
        let worker = Worker {
            process,
            client: 1,
            history: Arc::default(),
        };
        let failed = worker.granted(1).await.unwrap_err();
        let message = failed.message().unwrap_or_default();
        assert!(message.ends_with("grant: no such store"), "{message}");
    }
}
