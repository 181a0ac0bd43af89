//! The word before a run that loads the servers.

use std::{
    io::{self, IsTerminal as _},
    thread,
};

use dlock::config::Config;
use dlock_bench::Plan;
use tokio::sync::oneshot;

use super::targets::Targets;
use crate::{
    base::{duration, exit::Failure, output},
    cli::args::Bench,
};

/// Says how long `--all` takes and that it loads the servers. The user has to agree: on the command line or on the
/// terminal, unless the servers are the run's own.
///
/// # Errors
///
/// When the user does not agree, or there is no terminal.
///
/// # Cancel safety
///
/// An answer that is being typed is lost.
pub(super) async fn begin(args: &Bench, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
    if !args.all {
        return Ok(());
    }
    let configs: Vec<Config> = targets
        .all()
        .iter()
        .map(|target| target.config.clone())
        .collect();
    let forecast = plan
        .forecast(&configs)
        .saturating_add(args.verify.unwrap_or_default());
    output::say(&format!(
        "--all takes up to {} and loads the servers: up to 10000 locks, 64 requests at a time, killed clients",
        duration::show(forecast)
    ));
    if args.yes || targets.are_own() {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(
            "not begun: without a terminal, --all needs --yes",
        ));
    }
    output::say("type yes to begin (--yes says it beforehand):");
    match answer().await.as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(Failure::usage("not begun")),
    }
}

/// The line that the user types; `None` at the end of the input.
async fn answer() -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    // The runtime would wait for its own thread, and a signal could not end the program.
    thread::spawn(move || {
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer).is_ok() {
            let _ = sender.send(answer.trim().to_owned());
        }
    });
    receiver.await.ok()
}
