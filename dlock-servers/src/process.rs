//! A server as a child process.

use std::{
    ffi::OsString,
    fs::{self, File},
    future::Future,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{
    Program, clock, parent,
    until::{PROBE_EVERY, SERVER_MAX, until},
};

/// How much of a log is shown.
const LOG_TAIL_LINES: usize = 40;

/// A server and its directory. Both are gone when it is dropped, and the process also when this one dies in
/// any way. (The directory then stays in the system's temporary one.)
#[derive(Debug)]
pub struct Process {
    program: Program,
    arguments: Vec<OsString>,
    directory: TempDir,
    child: Option<Child>,
}

impl Process {
    /// The server `program`, not yet started. It will run in `directory`, which has its data.
    #[must_use]
    pub fn new(
        program: Program,
        arguments: impl IntoIterator<Item: Into<OsString>>,
        directory: TempDir,
    ) -> Self {
        Self {
            program,
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory,
            child: None,
        }
    }

    /// Starts it, and waits until `probe` succeeds, for at most a minute.
    ///
    /// # Errors
    ///
    /// When it runs already, cannot be started, ends at once or does not get ready: with the end of
    /// its log. It does not run then, and can be started again.
    ///
    /// # Cancel safety
    ///
    /// The process runs on.
    pub async fn start<F>(&mut self, probe: impl FnMut() -> F) -> io::Result<()>
    where
        F: Future<Output = io::Result<()>>,
    {
        if self.child.is_some() {
            return Err(io::Error::other("it has been started already"));
        }
        let log = File::options().append(true).create(true).open(self.log())?;
        let words = self.program.words().iter().chain(&self.arguments).cloned();
        let mut command = parent::command(words);
        command
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = self.child.insert(parent::start(command)?);
        let ready = tokio::select! {
            ready = until("ready", probe) => ready,
            ended = exited(child) => {
                ended.and_then(|status| Err(io::Error::other(format!("it ended with {status}"))))
            }
        };
        let Err(error) = ready else { return Ok(()) };
        // One that has ended would count as running, and never be started again.
        self.kill()?;
        let (directory, log) = (self.directory().display(), self.log_tail());
        Err(io::Error::other(format!(
            "the server in {directory}: {error}; its log:\n{log}"
        )))
    }

    /// The process id while the process runs.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        let child = self.child.as_ref()?;
        Pid::from_raw(i32::try_from(child.id()).ok()?)
    }

    /// The directory of the process.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kills it (SIGKILL) and waits until it is gone; nothing to do when it does not run.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for.
    pub fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            // Also ends one that is stopped. The kernel does it at once, so this does not block long.
            child.kill()?;
            child.wait()?;
            self.clear_up(&child);
        }
        Ok(())
    }

    /// Ends it as an administrator would (SIGTERM), and waits until it is gone: at most a minute.
    ///
    /// # Errors
    ///
    /// When it does not end.
    ///
    /// # Cancel safety
    ///
    /// It has the signal, and may still be running.
    pub async fn terminate(&mut self) -> io::Result<()> {
        let (Some(pid), Some(child)) = (self.pid(), self.child.as_mut()) else {
            return Ok(());
        };
        kill_process(pid, Signal::TERM)?;
        timeout(SERVER_MAX, exited(child)).await??;
        if let Some(child) = self.child.take() {
            self.clear_up(&child);
        }
        Ok(())
    }

    /// Stops it where it is (SIGSTOP): connections stay open, and nothing answers. Once this returns
    /// it does nothing more.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn stop(&self) -> io::Result<()> {
        let pid = self.running()?;
        kill_process(pid, Signal::STOP)?;
        // A thread that was running goes on for a moment after the signal.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), stopped)?;
        Ok(())
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn cont(&self) -> io::Result<()> {
        Ok(kill_process(self.running()?, Signal::CONT)?)
    }

    /// The last lines that it printed, over all its starts.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// Removes what the process, which has ended, left outside its directory.
    fn clear_up(&self, ended: &Child) {
        if self.program.is_under_clock() {
            clock::clear_up(ended.id());
        }
    }

    fn log(&self) -> PathBuf {
        self.directory().join("log")
    }

    fn running(&self) -> io::Result<Pid> {
        self.pid()
            .ok_or_else(|| io::Error::other("the server does not run"))
    }
}

impl Drop for Process {
    /// Waits for its end, unlike the drops of dlock: its port and directory are free afterwards.
    fn drop(&mut self) {
        let _ = self.kill();
        if thread::panicking() {
            let directory = self.directory().display();
            let log = self.log_tail();
            // Nothing depends on it.
            let _ = writeln!(io::stderr(), "the log of the server in {directory}:\n{log}");
        }
    }
}

/// Waits until it has ended.
async fn exited(child: &mut Child) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        sleep(PROBE_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_that_ended_at_its_start_can_be_started_again() {
        let directory = TempDir::new().expect("a directory");
        let program = Program::installed("sh").expect("a shell");
        // The first run ends at once, the second one goes on.
        let script = "test -e again || { touch again; exit 3; }; exec sleep 60";
        let mut process = Process::new(program, ["-c", script], directory);
        let error = process.start(pending).await.expect_err("an end");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        assert_eq!(process.pid(), None);
        process.start(ready).await.expect("a start");
        assert!(process.pid().is_some());
        process.stop().expect("it runs");
        process.kill().expect("its end");
    }

    async fn pending() -> io::Result<()> {
        std::future::pending().await
    }

    async fn ready() -> io::Result<()> {
        Ok(())
    }
}
