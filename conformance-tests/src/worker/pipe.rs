//! A worker's end of the pipes to its parent.

use std::{
    io::{self, BufRead, Write},
    process,
    sync::Arc,
    thread,
};

use async_trait::async_trait;
use dlock_verify::support::Outcome;
use tokio::sync::{Mutex, Notify, mpsc};

use super::{
    protocol::{Order, Report},
    workload::FencedStore,
};

/// Answers that may be queued: a worker has one access in flight.
const ANSWERS_MAX: usize = 1;

/// The orders from the parent.
pub(super) struct Pipe {
    answers: Mutex<mpsc::Receiver<Option<u64>>>,
    release: Arc<Notify>,
}

impl Pipe {
    /// Starts a thread that reads orders and ends the process when its parent is gone.
    pub(super) fn open() -> Self {
        let (sender, answers) = mpsc::channel(ANSWERS_MAX);
        let release = Arc::new(Notify::new());
        let ordered = release.clone();
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(Order::Answer(value)) => drop(sender.blocking_send(value)),
                    Ok(Order::Release) => ordered.notify_one(),
                    Err(error) => log_error(&format!("no order: {error}")),
                }
            }
            process::exit(1);
        });
        Self {
            answers: Mutex::new(answers),
            release,
        }
    }

    /// Waits for the order to release.
    pub(super) async fn release_ordered(&self) {
        self.release.notified().await;
    }
}

#[async_trait]
impl FencedStore for Pipe {
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>> {
        let mut answers = self.answers.lock().await;
        say(&Report::Access {
            name: name.to_owned(),
            token,
            wrote,
        });
        Ok(answers.recv().await.ok_or("the parent is gone")?)
    }
}

/// Writes a report in one piece, and ends the process if its parent is gone.
pub(super) fn say(report: &Report) {
    let line = serde_json::to_string(report).unwrap_or_default();
    if writeln!(io::stdout().lock(), "{line}").is_err() {
        process::exit(1);
    }
}

/// Writes to the standard error, which the parent shares.
pub(super) fn log_error(message: &str) {
    let _ = writeln!(io::stderr(), "worker {}: {message}", process::id());
}
