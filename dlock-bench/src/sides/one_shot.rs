//! Processes that take one lock and end.

use std::{
    process::{Output, Stdio},
    time::Duration,
};

use dlock_core::{Clock, Error, ErrorKind, Result, backend::async_trait};
use tokio::time::timeout;

use super::runner::{Runner, Sample};
use crate::target::WorkerCommand;

/// How long such a process may take.
const PROCESS_MAX: Duration = Duration::from_secs(60);

/// Processes one after the other, all on one name.
pub(crate) struct OneShots {
    pub(crate) command: WorkerCommand,
    pub(crate) name: String,
}

#[async_trait]
impl Runner for OneShots {
    async fn slice(&mut self, window: Duration, _cycle: Duration) -> Result<Sample> {
        let clock = Clock::boottime();
        let end = clock.now().after(window);
        let mut sample = Sample {
            tasks: 1,
            window,
            ..Sample::default()
        };
        // At least one: most slices are shorter than a process.
        while sample.all == 0 || clock.now() < end {
            let before = clock.now();
            self.process().await?;
            sample.durations.push(clock.now().since(before));
            sample.all += 1;
        }
        Ok(sample)
    }
}

impl OneShots {
    async fn process(&self) -> Result<()> {
        let mut command = self.command.make();
        command
            .arg("--once")
            .arg(&self.name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        let ended = timeout(PROCESS_MAX, command.output()).await;
        let failed = |error| Error::new(ErrorKind::Internal, "a process failed").with_source(error);
        let too_long = || Error::new(ErrorKind::Unavailable, "a process did not end in time");
        let Output { status, stderr, .. } = ended.map_err(|_| too_long())?.map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&stderr);
        let why = format!("a process that takes one lock failed: {}", said.trim());
        Err(Error::new(ErrorKind::Unavailable, why))
    }
}
