//! Starting dlock in a directory of its own, and hearing what it says.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Read, Write as _},
    iter,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The bound of each wait: only a hang reaches it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A directory of locks, and room for the test's files beside it.
pub(crate) struct Store {
    dir: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        let store = Self {
            dir: tempfile::tempdir().expect("directory"),
        };
        fs::create_dir(store.locks()).expect("directory");
        store
    }

    /// The directory of the locks.
    pub(crate) fn locks(&self) -> PathBuf {
        self.dir.path().join("locks")
    }

    pub(crate) fn url(&self) -> String {
        format!("file:{}", self.locks().display())
    }

    /// A file of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `dlock --url URL ARGS…`, which finds its own files only in this store.
    pub(crate) fn dlock<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.bare(&["--url", &self.url()]);
        command.args(args);
        command
    }

    /// `dlock ARGS…`, without a URL.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let words = undisturbed(env!("CARGO_BIN_EXE_dlock"));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        for variable in ["DLOCK_URL", "DLOCK_CONFIG", "DLOCK_REQUIRE_URL"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs `dlock --url URL ARGS…` to its end.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.dlock(args).output().expect("dlock starts")
    }

    /// Runs it, and gives its exit code.
    pub(crate) fn code<S: AsRef<OsStr>>(&self, args: &[S]) -> i32 {
        let output = self.output(args);
        output
            .status
            .code()
            .unwrap_or_else(|| panic!("ended by a signal: {output:?}"))
    }

    /// Whether `name` is free: it can be taken at once.
    pub(crate) fn is_free(&self, name: &str) -> bool {
        self.code(&["run", name, "--try", "--", "true"]) == 0
    }

    /// Starts `dlock --url URL ARGS…` with stdin and stdout connected to the test.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Program {
        Program::start(self.dlock(args))
    }
}

/// A running program with its stdin held open and its stdout read line by line.
pub(crate) struct Program {
    pid: Pid,
    /// The program's standard input; the program ends when this is dropped.
    pub(crate) stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Receiver<String>,
    ended: Receiver<ExitStatus>,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("program starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout");
        let mut program = Self::follow(child, stdout);
        program.stdin = stdin;
        program
    }

    /// Follows `child`, whose output is read from `stdout`.
    pub(crate) fn follow(mut child: Child, stdout: impl Read + Send + 'static) -> Self {
        let pid = Pid::from_child(&child);
        let lines = read_lines(stdout);
        let said = child.stderr.take().map_or_else(|| channel().1, read_lines);
        let (report, ended) = channel();
        thread::spawn(move || report.send(child.wait().expect("status")));
        Self {
            pid,
            stdin: None,
            lines,
            said,
            ended,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("signal");
    }

    /// Waits for the next line of its output.
    pub(crate) fn line(&self) -> String {
        self.lines
            .recv_timeout(TEST_TIMEOUT)
            .expect("a line of output")
    }

    /// Waits until no process has its output open any more: neither dlock nor anything it started.
    pub(crate) fn silence(&self) -> Vec<String> {
        rest(&self.lines)
    }

    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Waits until it says something with `part` in it on stderr.
    pub(crate) fn says(&self, part: &str) {
        let next = || {
            self.said
                .recv_timeout(TEST_TIMEOUT)
                .expect("a line on stderr")
        };
        while !next().contains(part) {}
    }

    /// Waits until it is about to wait for the lock; needs `-v`.
    pub(crate) fn requests_the_lock(&self) {
        self.says("requesting the lock");
    }

    /// Waits for its end: its exit code, or minus the signal that ended it, and what is left of its
    /// stderr.
    pub(crate) fn end(&self) -> (i32, String) {
        let status = self.ended.recv_timeout(TEST_TIMEOUT).expect("it ends");
        let code = status
            .code()
            .unwrap_or_else(|| -status.signal().unwrap_or(0));
        (code, rest(&self.said).join("\n"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A failed test leaves nothing behind: the processes that it started end with their parent.
        if self.ended.try_recv().is_err() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Reads all lines until the writers are gone.
fn rest(lines: &Receiver<String>) -> Vec<String> {
    let next = || match lines.recv_timeout(TEST_TIMEOUT) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("a process still has it open"),
    };
    iter::from_fn(next).collect()
}

fn read_lines(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        // A terminal ends with an error, a pipe without.
        for line in BufReader::new(stdout).lines().map_while(io::Result::ok) {
            if sender.send(line.trim_end_matches('\r').to_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

/// The words that start `program` with no signal ignored. Tests that run in the background of a script inherit
/// SIGINT and SIGQUIT ignored, and dlock would leave them so.
pub(crate) fn undisturbed(program: &str) -> Vec<&str> {
    const HUP_INT_QUIT: u64 = 0b111;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if ignored.is_some_and(|mask| mask & HUP_INT_QUIT != 0) {
        return vec!["env", "--default-signal", program];
    }
    vec![program]
}

/// The message of dlock, which must be one line and no panic.
pub(crate) fn one_line(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert_eq!(said.lines().count(), 1, "{said:?}");
    assert!(
        said.starts_with("dlock: ") && !said.contains("panicked"),
        "{said:?}"
    );
    said.trim_end().to_owned()
}
