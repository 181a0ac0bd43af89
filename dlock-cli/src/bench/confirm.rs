//! The word before a run that loads the servers.

use std::io::{self, IsTerminal as _};

use dlock::config::Config;
use dlock_bench::Plan;

use super::targets::Targets;
use crate::{
    base::{
        duration,
        exit::{Exit, Failure},
        output,
    },
    cli::args::Bench,
};

/// Says how long `--all` takes and that it loads the servers. On a terminal the user has to agree, unless the
/// command line did or the servers are the run's own.
///
/// # Errors
///
/// When the user does not agree.
pub(super) fn begin(args: &Bench, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
    if !args.all {
        return Ok(());
    }
    let configs: Vec<Config> = targets
        .all()
        .iter()
        .map(|target| target.config.clone())
        .collect();
    let forecast = duration::show(plan.forecast(&configs));
    output::say(&format!(
        "--all takes up to {forecast} and loads the servers: up to 10000 locks, 64 requests at a time, killed clients"
    ));
    if args.yes || targets.are_own() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    output::say("type yes to begin (--yes says it beforehand):");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    match read {
        Ok(_) if matches!(answer.trim(), "y" | "yes") => Ok(()),
        _ => Err(Failure::new(Exit::USAGE, "not begun")),
    }
}
