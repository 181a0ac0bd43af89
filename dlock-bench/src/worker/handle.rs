//! A worker, as the run has it.

use std::{io, process::Stdio, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use dlock::config::Host;

use super::protocol::{Reply, Request};
use crate::target::WorkerCommand;

/// How long a worker may take to connect: it may wait for a server that was restarted.
const CONNECT_MAX: Duration = Duration::from_secs(60);

/// How long an answer may take, beyond the time of the work.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// How long a worker may take to end.
const END_MAX: Duration = Duration::from_secs(10);

/// A process that is connected to the store. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts a worker that connects to `hosts`, or to those of the URL if there are none.
    ///
    /// # Errors
    ///
    /// `Internal` when it cannot be started; `Unavailable` when it does not connect.
    pub(crate) async fn start(command: &WorkerCommand, hosts: &[Host]) -> Result<Self> {
        let mut command: Command = command.make();
        for host in hosts {
            command.arg("--host").arg(host.to_string());
        }
        Self::spawn(command).await
    }

    /// Starts a process that keeps cores from sleeping, and does not connect.
    ///
    /// # Errors
    ///
    /// `Internal` when it cannot be started; `Unavailable` when the system refuses its scheduling class.
    pub(crate) async fn start_spinner(command: &WorkerCommand) -> Result<Self> {
        let mut command: Command = command.make();
        command.arg("--spin");
        Self::spawn(command).await
    }

    async fn spawn(mut command: Command) -> Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C reaches the run alone, which ends its workers.
            .process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(failed(io::Error::other("a worker has no pipes")));
        };
        let lines = BufReader::new(stdout).lines();
        let mut worker = Self {
            child,
            stdin,
            lines,
        };
        match worker.reply(CONNECT_MAX).await? {
            Reply::Connected => Ok(worker),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a request whose work takes `work`, and waits for the answer.
    ///
    /// # Errors
    ///
    /// `Unavailable` with what the worker says; `Internal` when it is gone.
    ///
    /// # Cancel safety
    ///
    /// The worker goes on; it can only be dropped then.
    pub(crate) async fn call(&mut self, request: &Request, work: Duration) -> Result<Reply> {
        let line = serde_json::to_string(request).map_err(io::Error::other);
        let line = line.map_err(failed)? + "\n";
        let sent = self.stdin.write_all(line.as_bytes()).await;
        sent.map_err(failed)?;
        self.reply(work.saturating_add(ANSWER_MAX)).await
    }

    /// The process id, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.map_err(failed)
    }

    /// Lets it release what it holds, and end.
    pub(crate) async fn end(self) {
        let Self {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        // One that does not end is killed with the child.
        let _ = timeout(END_MAX, child.wait()).await;
    }

    async fn reply(&mut self, within: Duration) -> Result<Reply> {
        let line = timeout(within, self.lines.next_line()).await;
        let line = line.map_err(|_| failed(io::Error::other("a worker does not answer")))?;
        let gone = || failed(io::Error::other("a worker has ended"));
        let line = line.map_err(failed)?.ok_or_else(gone)?;
        match serde_json::from_str(&line) {
            Ok(Reply::Failed(why)) => Err(Error::new(ErrorKind::Unavailable, why)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(failed(io::Error::other(error))),
        }
    }
}

/// The answer to another request.
pub(crate) fn unexpected(reply: &Reply) -> Error {
    let why = format!("a worker answered something else: {reply:?}");
    Error::new(ErrorKind::Internal, why)
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::Internal, "a worker process failed").with_source(error)
}
