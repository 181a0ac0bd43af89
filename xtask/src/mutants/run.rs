//! Running a test program until its first failure.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::output::Output;
use crate::failure::{Failure, Result};

/// A program that has not ended by then hangs. The longest one of the project takes half as long.
const RUN_MAX: Duration = Duration::from_secs(600);

/// The result of a test program.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) verdict: Verdict,
    /// How many tests had ended by then.
    pub(super) tests: usize,
    /// The report of the failure of a test that was run alone.
    pub(super) reports: Vec<String>,
    pub(super) took: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed(String),
    /// The program ended by a signal, or with a failure outside all tests.
    Broke,
    /// The program did not end.
    Hung,
}

/// Which tests of a program are run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Filter<'a> {
    /// All tests with this part in their names.
    Part(&'a str),
    /// The test of this name.
    Exactly(&'a str),
    /// No test program: one that takes these words.
    Words(&'a str),
}

/// Runs the tests of `program` in `folder`, and stops at the first failure. A test that is run alone may report it.
///
/// # Errors
///
/// When it cannot be started.
pub(super) fn run(program: &Path, folder: &Path, filter: Filter<'_>) -> Result<Run> {
    // What a program leaves behind that is stopped goes with this folder.
    let scratch = Scratch::new()?;
    let mut command = Command::new(program);
    match filter {
        Filter::Part("") => &mut command,
        Filter::Part(part) => command.arg(part),
        Filter::Exactly(name) => command.args(["--exact", name]),
        Filter::Words(words) => command.args(words.split_whitespace()),
    };
    let child = command
        .current_dir(folder)
        .env("DLOCK_TEST_REQUIRE", "all")
        .env("TMPDIR", scratch.path())
        // Or a failure would stay in the copy, for the next mutant.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let child = child
        .map_err(|error| Failure::new(format!("cannot start {}: {error}", program.display())))?;
    Ok(follow(child, matches!(filter, Filter::Exactly(_))))
}

fn follow(child: Child, is_one_test: bool) -> Run {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a test took is no deadline of a lock"
    )]
    let start = Instant::now();
    let mut group = Group(child);
    let lines = group.lines();
    let mut output = Output::default();
    let ended = loop {
        let left = RUN_MAX.saturating_sub(start.elapsed());
        match lines.recv_timeout(left) {
            Ok(line) => output.read(&line),
            Err(RecvTimeoutError::Timeout) => break Verdict::Hung,
            Err(RecvTimeoutError::Disconnected) => break group.end(),
        }
        if output.failed.is_some() && !is_one_test {
            // There may be many others.
            break Verdict::Broke;
        }
    };
    Run {
        verdict: output.failed.map_or(ended, Verdict::Failed),
        tests: output.ended,
        reports: output.reports,
        took: start.elapsed(),
    }
}

/// A program with what it started; all end with it. The servers of tests end with their parent.
struct Group(Child);

impl Group {
    /// The lines that it prints, until it has ended.
    fn lines(&mut self) -> mpsc::Receiver<String> {
        let (sender, lines) = mpsc::channel();
        if let Some(output) = self.0.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output).split(b'\n');
                for line in lines.map_while(std::result::Result::ok) {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        lines
    }

    fn end(&mut self) -> Verdict {
        match self.0.wait() {
            Ok(status) if status.success() => Verdict::Passed,
            _ => Verdict::Broke,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            let _ = kill_process_group(id, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// A folder for temporary files, with a short name: sockets lie there, too.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("dlock-mutants-{}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, is_one_test: bool) -> Run {
        let folder = Path::new(".");
        let mut command = Command::new("sh");
        let child = command
            .current_dir(folder)
            .args(["-c", script])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        follow(child.unwrap(), is_one_test)
    }

    #[test]
    fn the_first_failure_ends_the_program() {
        let run = sh(
            "echo 'test a ... ok'; echo 'test b ... FAILED'; sleep 3600",
            false,
        );
        assert_eq!(run.verdict, Verdict::Failed("b".to_owned()));
        assert_eq!(run.tests, 2);
    }

    #[test]
    fn the_status_decides_where_no_test_failed() {
        assert_eq!(sh("echo 'test a ... ok'", false).verdict, Verdict::Passed);
        assert_eq!(sh("kill -ABRT $$", false).verdict, Verdict::Broke);
    }

    #[test]
    fn a_test_that_is_run_alone_reports_its_failure() {
        let run = sh(
            "echo 'test b ... FAILED'; echo failures:; echo why; exit 101",
            true,
        );
        assert_eq!(run.verdict, Verdict::Failed("b".to_owned()));
        assert_eq!(run.reports, ["why"]);
    }
}
