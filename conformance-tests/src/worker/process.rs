//! A worker as its parent sees it.

use std::{env, process::Stdio, sync::Arc};

use dlock_core::Clock;
use dlock_verify::{
    ensure,
    history::{Event, EventKind, FencedRegister, History},
    support::Outcome,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    task::JoinHandle,
};

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
    child: Child,
    pid: Pid,
    client: u32,
    orders: Arc<Mutex<ChildStdin>>,
    reader: JoinHandle<Outcome>,
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
        let mut child = Command::new(env::current_exe()?)
            .env(WORKER_ENV, serde_json::to_string(&assignment)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or("the worker has ended at once")?;
        let orders = child
            .stdin
            .take()
            .ok_or("the worker has no standard input")?;
        let orders = Arc::new(Mutex::new(orders));
        let reports = child
            .stdout
            .take()
            .ok_or("the worker has no standard output")?;
        let reader = read(reports, orders.clone(), history.clone(), register);
        let reader = tokio::spawn(reader);
        Ok(Worker {
            child,
            pid,
            client,
            orders,
            reader,
            history,
        })
    }
}

impl Worker {
    /// The number of its client in the history.
    pub(crate) fn client(&self) -> u32 {
        self.client
    }

    /// Waits until it has been granted `count` locks.
    pub(crate) async fn granted(&self, count: usize) {
        let granted = |event: &Event| {
            event.client == self.client && matches!(event.kind, EventKind::Granted { .. })
        };
        self.history.until(count, granted).await;
    }

    /// Orders the release.
    pub(crate) async fn release(&self) -> Outcome {
        send(&self.orders, &Order::Release).await
    }

    /// Stops it where it is (SIGSTOP).
    pub(crate) fn stop(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::STOP)?)
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::CONT)?)
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Outcome {
        let at = Clock::boottime().now().as_nanos();
        kill_process(self.pid, Signal::KILL)?;
        self.child.wait().await?;
        // Its last line may be torn.
        let _ = self.reader.await?;
        self.history
            .record(Event::new(at, self.client, EventKind::Killed));
        Ok(())
    }

    /// Waits until it has done its task.
    pub(crate) async fn finished(mut self) -> Outcome {
        let status = self.child.wait().await?;
        self.reader.await??;
        ensure!(
            status.success(),
            "worker {} ended with {status}",
            self.client
        );
        Ok(())
    }
}

async fn send(orders: &Mutex<ChildStdin>, order: &Order) -> Outcome {
    let line = serde_json::to_string(order)? + "\n";
    Ok(orders.lock().await.write_all(line.as_bytes()).await?)
}

/// Reads the reports of a worker until it ends.
async fn read(
    reports: ChildStdout,
    orders: Arc<Mutex<ChildStdin>>,
    history: Arc<History>,
    register: Arc<FencedRegister>,
) -> Outcome {
    let mut lines = BufReader::new(reports).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line)
            .map_err(|error| format!("no report: {line:?}: {error}"))?
        {
            Report::Event(event) => history.record(event),
            Report::Access { name, token, wrote } => {
                let value = register.access(&name, token, wrote);
                send(&orders, &Order::Answer(value)).await?;
            }
        }
    }
    Ok(())
}
