//! Other processes: the test binary itself, whose job an environment variable names.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

const JOB: &str = "DLOCK_FILE_TEST_JOB";
const DIRECTORY: &str = "DLOCK_FILE_TEST_DIRECTORY";

/// The start of each line of a worker; the other lines are the test harness's.
const MARK: &str = "@";

/// A process at work. Killed when dropped.
pub(crate) struct Worker {
    child: Child,
    said: BufReader<ChildStdout>,
    stdin: Option<ChildStdin>,
}

/// Inside a worker: its job and its directory; `None` in the test run itself.
pub(crate) fn job() -> Option<(String, PathBuf)> {
    let job = std::env::var(JOB).ok()?;
    Some((job, std::env::var_os(DIRECTORY).expect("directory").into()))
}

/// Inside a worker: says a line to the test.
pub(crate) fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{line}")
        .and_then(|()| out.flush())
        .expect("stdout");
}

/// Inside a worker: returns when the test has let go.
pub(crate) fn until_released() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

impl Worker {
    /// Starts this test binary with `job`; it must have a test named `worker`.
    pub(crate) fn start(job: &str, directory: &Path) -> Self {
        Self::start_as(
            job,
            directory,
            std::env::current_exe().expect("test binary"),
            None,
        )
    }

    /// Starts a worker from another binary file and as another user.
    pub(crate) fn start_as(
        job: &str,
        directory: &Path,
        binary: impl AsRef<OsStr>,
        user: Option<u32>,
    ) -> Self {
        let mut command = Command::new(binary);
        command
            .args(["worker", "--exact", "--nocapture", "--test-threads=1"])
            .env(JOB, job)
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(user) = user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
        }
        let mut child = command.spawn().expect("worker");
        let said = BufReader::new(child.stdout.take().expect("stdout"));
        let stdin = child.stdin.take();
        Self { child, said, stdin }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it says; fails the test when it ends before.
    pub(crate) fn hear(&mut self) -> String {
        self.try_hear().expect("the worker ended without a word")
    }

    /// The next line that it says; `None` at its end.
    pub(crate) fn try_hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.said.read_line(&mut line).expect("worker's stdout") == 0 {
                return None;
            }
            // The harness writes `test worker ... ` before the first word.
            if let Some((_, word)) = line.trim_end().split_once(MARK) {
                return Some(word.to_owned());
            }
        }
    }

    /// Lets it go on from [`until_released`].
    pub(crate) fn release(&mut self) {
        self.stdin = None;
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
