//! `cargo xtask setup | test | ci | nightly | tidy | dlock …`: what a fresh machine needs, and what continuous
//! integration runs.

mod ci;
mod command;
mod deny;
mod failed;
mod failure;
mod features;
mod metadata;
mod nightly;
mod program;
mod setup;
mod step;
mod test;
mod tidy;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::failure::Result;

/// Sets up, tests and runs dlock.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Checks for what the tests and checks need, and installs what is missing
    Setup,

    /// Runs setup, then every test; a server that is missing is a failure
    Test {
        /// For `cargo test`, such as `-p dlock-core name-of-a-test`
        #[arg(
            value_name = "ARGS",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        arguments: Vec<OsString>,
    },

    /// Runs what continuous integration runs: format, lints, docs, features, then the tests
    Ci,

    /// Runs what is too slow for every commit: dependencies, packages, the shipped build, long tests
    Nightly {
        /// Only these: deny, advisories, packages, doctests, dist, model, kills
        #[arg(value_name = "PART")]
        parts: Vec<String>,
    },

    /// Checks the rules of the house that the compiler does not know
    Tidy(tidy::Options),

    /// Builds the program `dlock` and becomes it; `cargo dlock …` says the same
    // Its own `--help` is the program's.
    #[command(disable_help_flag = true)]
    Dlock {
        /// For `dlock`, untouched
        #[arg(
            value_name = "ARGS",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            step::complain(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup => setup::run(),
        Task::Test { arguments } => test::run(&arguments),
        Task::Ci => ci::run(),
        Task::Nightly { parts } => nightly::run(&parts),
        Task::Tidy(options) => step::step("tidy", || tidy::run(&options)),
        Task::Dlock { arguments } => Err(program::become_it(&arguments)),
    }
}
