//! Running `dlock run`, line by line.

use std::{process::Stdio, time::Duration};

use dlock_verify::{
    ensure,
    support::{self, Outcome},
};
use libtest_mimic::Trial;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    process::{Child, ChildStderr, Command},
};

/// The bound of a case: only a hang reaches it.
const CASE_MAX: Duration = Duration::from_secs(120);

/// The begin of the line that says why a wait goes on.
pub(crate) const WAITING: &str = "dlock: waiting: ";

/// The output of the command of each run.
const ENTERED: &str = "entered\n";

/// The case `name`, run by `case`.
pub(crate) fn trial<F>(name: impl Into<String>, case: impl FnOnce() -> F + Send + 'static) -> Trial
where
    F: Future<Output = Outcome>,
{
    Trial::test(name, move || support::run(CASE_MAX, case()))
}

/// A `dlock run`.
pub(crate) struct Run {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
    said: Vec<String>,
}

/// The end of a `dlock run`.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    stdout: String,
    said: Vec<String>,
}

impl Run {
    /// Starts `dlock run --url URL ARGS… -- echo entered`, which finds no configuration of the user.
    pub(crate) fn start(url: &str, args: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock"));
        command
            .args(["run", "a", "--url", url])
            .args(args)
            .args(["--", "echo", "entered"])
            .env_remove("DLOCK_URL")
            .env_remove("DLOCK_CONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        Ok(Self {
            child,
            stderr: BufReader::new(stderr).lines(),
            said: Vec::new(),
        })
    }

    /// Waits until it says why it waits.
    pub(crate) async fn waits(&mut self) -> Outcome<String> {
        while let Some(line) = self.stderr.next_line().await? {
            self.said.push(line.clone());
            if let Some(why) = line.strip_prefix(WAITING) {
                return Ok(why.to_owned());
            }
        }
        Err(format!("it ended without a wait: {:?}", self.said).into())
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Outcome<Ended> {
        let mut stdout = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut stdout).await?;
        }
        while let Some(line) = self.stderr.next_line().await? {
            self.said.push(line);
        }
        let code = self.child.wait().await?.code().unwrap_or(-1);
        Ok(Ended {
            code,
            stdout,
            said: self.said,
        })
    }
}

impl Ended {
    /// Fails unless the command ran under the lock.
    pub(crate) fn entered(&self) -> Outcome {
        ensure!(self.code == 0 && self.stdout == ENTERED, "{self:?}");
        Ok(())
    }

    /// Fails unless it ended with `code`, without the command, and with these words in its last line.
    pub(crate) fn refused(&self, code: i32, words: &str) -> Outcome {
        ensure!(self.code == code && self.stdout.is_empty(), "{self:?}");
        let last = self.said.last().map_or("", String::as_str);
        ensure!(last.contains(words), "no {words:?} in {self:?}");
        Ok(())
    }

    /// How often it said with these words that it waits.
    pub(crate) fn waits(&self, words: &str) -> usize {
        let is_wait = |line: &&String| line.starts_with(WAITING) && line.contains(words);
        self.said.iter().filter(is_wait).count()
    }
}
