//! The one place that starts programs, so that all of them get the same environment.

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead as _, BufReader},
    iter,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::{
    failure::{Failure, Result},
    step::say,
};

/// How long after the end of a program its last lines may come.
const LAST_LINE_MAX: Duration = Duration::from_secs(1);

/// A program with its arguments, not yet started.
#[derive(Debug)]
pub(crate) struct Tool {
    name: &'static str,
    command: Command,
}

impl Tool {
    /// The program `name`, found by `PATH`; `cargo` is the one that started xtask.
    pub(crate) fn new(name: &'static str) -> Self {
        let found = if name == "cargo" {
            env::var_os("CARGO")
        } else {
            None
        };
        let command = Command::new(found.as_deref().unwrap_or_else(|| OsStr::new(name)));
        Self { name, command }
    }

    /// Cargo with the words of `line`, which are separated by spaces.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo").args(line.split_whitespace())
    }

    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs it to its end; its output is the user's.
    ///
    /// # Errors
    ///
    /// When it cannot be started or does not succeed: the line to run it by hand.
    pub(crate) fn run(mut self) -> Result<()> {
        let status = self
            .command
            .status()
            .map_err(|error| self.cannot_start(&error))?;
        self.judge(status)
    }

    /// As [`run`](Self::run), and `each` sees every line that it printed, when it has ended: what it
    /// left in the background may print for ever.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn run_seen(mut self, each: impl FnMut(String)) -> Result<()> {
        self.command.stdout(Stdio::piped());
        let mut child = self
            .command
            .spawn()
            .map_err(|error| self.cannot_start(&error))?;
        let (seen, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || show(output, &seen));
        }
        let status = child.wait().map_err(|error| self.cannot_start(&error))?;
        iter::from_fn(|| lines.recv_timeout(LAST_LINE_MAX).ok()).for_each(each);
        self.judge(status)
    }

    /// Runs it to its end and gives what it printed.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn read(mut self) -> Result<Vec<u8>> {
        self.command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = self
            .command
            .output()
            .map_err(|error| self.cannot_start(&error))?;
        self.judge(output.status)?;
        Ok(output.stdout)
    }

    /// Runs it to its end and gives all that it printed, also if it does not succeed.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(crate) fn output(mut self) -> Result<Output> {
        self.command.stdin(Stdio::null());
        let output = self.command.output();
        output.map_err(|error| self.cannot_start(&error))
    }

    /// Starts it, without input and output.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(crate) fn start(mut self) -> Result<Child> {
        self.command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = self.command.spawn();
        child.map_err(|error| self.cannot_start(&error))
    }

    /// Whether it is there and succeeds; it prints nothing.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.command.status().is_ok_and(|status| status.success())
    }

    /// Becomes the program: same process, so that input, signals and exit code are its own.
    /// Returns only when it cannot be started.
    pub(crate) fn replace(mut self) -> Failure {
        let error = self.command.exec();
        self.cannot_start(&error)
    }

    /// The line to type for the same effect.
    pub(crate) fn by_hand(&self) -> String {
        let settings = self.command.get_envs().filter_map(|(key, value)| {
            Some(format!("{}={}", key.to_string_lossy(), quoted(value?)))
        });
        let arguments = self.command.get_args().map(quoted);
        let name = iter::once(self.name.to_owned());
        settings
            .chain(name)
            .chain(arguments)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn judge(&self, status: ExitStatus) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "failed ({status}); run it by hand: {}",
            self.by_hand()
        )))
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        Failure::new(format!("cannot start {}: {error}", self.name))
    }
}

/// Prints `output` while it comes, and hands on its lines.
fn show(output: ChildStdout, seen: &mpsc::Sender<String>) {
    // The output of a program under test need not be text.
    let lines = BufReader::new(output).split(b'\n');
    for line in lines.map_while(io::Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        say(&line);
        if seen.send(line).is_err() {
            return;
        }
    }
}

/// `word` as a shell takes it for one word.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_is_what_one_would_type() {
        let tool = Tool::cargo("doc --no-deps")
            .env("RUSTDOCFLAGS", "-D warnings")
            .args(["it's"]);
        assert_eq!(
            tool.by_hand(),
            r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s'"
        );
    }

    #[test]
    fn a_failure_names_the_line_to_run() {
        let failure = Tool::new("false").args(["x y"]).run().unwrap_err();
        assert_eq!(
            failure.to_string(),
            "failed (exit status: 1); run it by hand: false 'x y'"
        );
    }

    #[test]
    fn what_is_left_in_the_background_is_not_waited_for() {
        let mut seen = Vec::new();
        let line = "(sleep 3; echo late) & echo one; echo two; exit 3";
        let result = Tool::new("sh")
            .args(["-c", line])
            .run_seen(|line| seen.push(line));
        assert_eq!(seen, ["one", "two"]);
        assert!(result.unwrap_err().to_string().contains("exit status: 3"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let failure = Tool::new("no-such-program").read().unwrap_err().to_string();
        assert!(
            failure.starts_with("cannot start no-such-program: "),
            "{failure}"
        );
        assert!(!Tool::new("no-such-program").succeeds());
    }
}
