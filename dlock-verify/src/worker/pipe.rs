//! A worker's end of the pipes to its parent.

use std::{
    io::{self, BufRead, Write},
    process, thread,
};

#[cfg(target_os = "linux")]
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Serialize, de::DeserializeOwned};

/// Has the kernel kill this process when its parent dies, also while it is stopped. Nothing but on Linux.
///
/// # Errors
///
/// When the kernel refuses.
pub fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Starts a thread that gives each order to `obey`, and ends the process when its parent is gone.
///
/// `obey` may block; the next order is read when it returns.
pub fn read_orders<O: DeserializeOwned>(mut obey: impl FnMut(O) + Send + 'static) {
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(order) => obey(order),
                Err(error) => log_error(&format!("no order: {error}")),
            }
        }
        process::exit(1);
    });
}

/// Writes a report in one piece, and ends the process if its parent is gone.
pub fn say(report: &impl Serialize) {
    let line = serde_json::to_string(report).unwrap_or_default();
    if writeln!(io::stdout().lock(), "{line}").is_err() {
        process::exit(1);
    }
}

/// Writes to the standard error, which the parent passes on.
pub fn log_error(message: &str) {
    let _ = writeln!(io::stderr(), "worker {}: {message}", process::id());
}
