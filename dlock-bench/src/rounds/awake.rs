//! Keeps the cores from sleeping in slices that have one request at a time.

use std::time::Duration;

use super::pace::SLICE_MAX;
use crate::{
    data::Awake,
    machine::{describe, scheduling_group},
    target::WorkerCommand,
    worker::{Reply, Request, Worker, unexpected},
};

/// The process that does it, or why there is none. It is killed with this value, and not waited for: on a busy machine its
/// threads come to their end late.
///
/// While it is on, the time of a core to wake up is no part of a request.
///
/// ```
/// use std::process::Command;
/// use dlock_bench::{KeepAwake, WorkerCommand, data::Awake};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// // A program that does not answer `--spin` by `dlock_bench::worker::spin`.
/// let other = WorkerCommand::new(|| Command::new("true"));
/// let mut awake = KeepAwake::start(Some(&other), &[]).await;
/// awake.set(true).await;
/// assert!(matches!(awake.state(), Awake::Not(_)));
/// # });
/// ```
#[derive(Debug)]
pub struct KeepAwake(Result<Worker, String>);

impl KeepAwake {
    /// Starts the process by `command`; the `servers` are on this machine.
    ///
    /// # Cancel safety
    ///
    /// The process is killed.
    pub async fn start(command: Option<&WorkerCommand>, servers: &[u32]) -> Self {
        let Some(command) = command else {
            return Self(Err("there is no store to measure".to_owned()));
        };
        let own = scheduling_group(std::process::id());
        if servers
            .iter()
            .any(|server| scheduling_group(*server) != own)
        {
            // Between groups the kernel shares the cores without regard to the classes inside.
            let why = "a server is in another control group, and would have to share its core";
            return Self(Err(why.to_owned()));
        }
        let worker = Worker::start_spinner(command).await;
        Self(worker.map_err(|error| error.to_string()))
    }

    /// Keeps the cores awake until the next call, and no longer than a minute; or lets them sleep.
    ///
    /// # Cancel safety
    ///
    /// It cannot be used any more.
    pub async fn set(&mut self, is_on: bool) {
        let Ok(worker) = &mut self.0 else {
            return;
        };
        let time = if is_on { SLICE_MAX } else { Duration::ZERO };
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let answer = worker.call(&Request::Spin { millis }, Duration::ZERO).await;
        let error = match answer {
            Ok(Reply::Spinning) => return,
            Ok(other) => unexpected(&other),
            Err(error) => error,
        };
        self.0 = Err(error.to_string());
    }

    /// Whether it keeps them awake; for the data of the run.
    #[must_use]
    pub fn state(&self) -> Awake {
        match &self.0 {
            Ok(_) => Awake::Cores(describe().cores),
            Err(why) => Awake::Not(why.clone()),
        }
    }

    /// The process, while it runs.
    pub(super) fn process(&self) -> Option<u32> {
        self.0.as_ref().ok()?.pid()
    }
}
