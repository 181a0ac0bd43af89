//! A worker as its parent sees it.

use std::{fmt, process::Stdio, sync::Arc};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex, watch},
    task::JoinHandle,
};

use super::errors::pass_on;
use crate::support::Outcome;

/// A worker process; killed when dropped.
pub struct WorkerProcess {
    child: Child,
    pid: Pid,
    orders: Orders,
    reader: JoinHandle<Outcome>,
    /// Closed when all reports are read.
    reports: watch::Receiver<()>,
    /// The end of its standard error, when that has ended.
    errors: watch::Receiver<Option<String>>,
}

#[derive(Clone)]
struct Orders(Arc<Mutex<ChildStdin>>);

impl WorkerProcess {
    /// Starts `command`, and gives each report of the worker to `on_report`, which may answer with an order.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start<R, O>(
        mut command: Command,
        on_report: impl FnMut(R) -> Option<O> + Send + 'static,
    ) -> Outcome<Self>
    where
        R: DeserializeOwned + Send + 'static,
        O: Serialize + Send + Sync + 'static,
    {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or("the worker has ended at once")?;
        let orders = child.stdin.take();
        let orders = orders.ok_or("the worker has no standard input")?;
        let orders = Orders(Arc::new(Mutex::new(orders)));
        let reports = child.stdout.take();
        let reports = reports.ok_or("the worker has no standard output")?;
        let errors = child.stderr.take();
        let errors = errors.ok_or("the worker has no standard error")?;
        let (end, all_read) = watch::channel(());
        let reading = read(reports, orders.clone(), on_report);
        let reader = tokio::spawn(async move {
            let _end = end;
            reading.await
        });
        let (said, end_of_errors) = watch::channel(None);
        tokio::spawn(async move { said.send(Some(pass_on(errors).await)) });
        Ok(Self {
            child,
            pid,
            orders,
            reader,
            reports: all_read,
            errors: end_of_errors,
        })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends an order.
    ///
    /// # Errors
    ///
    /// When the worker has ended.
    ///
    /// # Cancel safety
    ///
    /// The order may be sent in part; send no other one after it.
    pub async fn order(&self, order: &(impl Serialize + Sync)) -> Outcome {
        self.orders.send(order).await
    }

    /// Stops it where it is (SIGSTOP).
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn stop(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::STOP)?)
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn resume(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::CONT)?)
    }

    /// Kills it (SIGKILL), and waits until it is gone and its reports are read.
    ///
    /// # Errors
    ///
    /// When it has been waited for before.
    ///
    /// # Cancel safety
    ///
    /// It is killed.
    pub async fn kill(mut self) -> Outcome {
        kill_process(self.pid, Signal::KILL)?;
        self.child.wait().await?;
        // Its last line may be torn.
        let _ = self.reader.await?;
        Ok(())
    }

    /// Waits until it has ended by itself, without a bound.
    ///
    /// # Errors
    ///
    /// When it failed, with the end of its standard error, or a report could not be read.
    ///
    /// # Cancel safety
    ///
    /// It is killed.
    pub async fn finished(mut self) -> Outcome {
        let status = self.child.wait().await?;
        if !status.success() {
            let errors = self.ended().await;
            return Err(format!("the worker ended with {status}: {errors}").into());
        }
        self.reader.await?
    }

    /// Waits until it has ended and its reports are read, without a bound. Returns the end of its standard error.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing has changed.
    pub async fn ended(&self) -> String {
        let (mut reports, mut errors) = (self.reports.clone(), self.errors.clone());
        // An error is the end.
        while reports.changed().await.is_ok() {}
        let said = errors.wait_for(Option::is_some).await;
        said.map(|said| said.clone().unwrap_or_default())
            .unwrap_or_default()
    }
}

impl Orders {
    async fn send(&self, order: &(impl Serialize + Sync)) -> Outcome {
        let line = serde_json::to_string(order)? + "\n";
        Ok(self.0.lock().await.write_all(line.as_bytes()).await?)
    }
}

/// Reads the reports of a worker until it ends.
async fn read<R: DeserializeOwned, O: Serialize + Sync>(
    reports: ChildStdout,
    orders: Orders,
    mut on_report: impl FnMut(R) -> Option<O>,
) -> Outcome {
    let mut lines = BufReader::new(reports).lines();
    while let Some(line) = lines.next_line().await? {
        let report = serde_json::from_str(&line);
        let report = report.map_err(|error| format!("no report: {line:?}: {error}"))?;
        if let Some(order) = on_report(report) {
            orders.send(&order).await?;
        }
    }
    Ok(())
}

impl fmt::Debug for WorkerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerProcess")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failure_has_the_reason() {
        let mut command = Command::new("sh");
        command.args(["-c", "seq 9 >&2; echo no such store >&2; exit 3"]);
        let worker = WorkerProcess::start(command, |(): ()| None::<()>).unwrap();
        assert!(worker.ended().await.ends_with("\nno such store"));
        let failed = worker.finished().await.unwrap_err();
        let message = failed.message().unwrap_or_default();
        assert!(message.contains("exit status: 3: 1\n2\n"), "{message}");
        assert!(message.ends_with("\nno such store"), "{message}");
    }
}
