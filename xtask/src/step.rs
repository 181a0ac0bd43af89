//! A named, timed part of a task, and the lines that a task prints.

use std::{
    io::{self, Write as _},
    time::Instant,
};

use crate::failure::{Failure, Result};

/// Runs `work` and says in one line that it went well and how long it took.
///
/// # Errors
///
/// The failure of `work`, headed by `name`.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a step took is no deadline of a lock"
    )]
    let start = Instant::now();
    work().map_err(|failure| Failure::new(format!("{name}: {failure}")))?;
    say(&format!(
        "ok      {name:<24} {:>6.1} s",
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Says that a part was left out, and why.
pub(crate) fn skip(name: &str, why: &str) {
    say(&format!("skipped {name:<24} {why}"));
}

/// Prints a line. A reader that stops early (`| head -1`) stops no task.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line that needs an action.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
