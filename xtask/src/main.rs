//! `cargo xtask setup | test | ci | nightly | dist | chaos | mutants | measured | peers | tidy | report-shots | dlock …`:
//! what a fresh machine needs, and what continuous integration runs.

mod chaos;
mod ci;
mod command;
mod deny;
mod dist;
mod failed;
mod failure;
mod features;
mod files;
mod measured;
mod memory_folder;
mod metadata;
mod mutants;
mod nightly;
mod peers;
mod program;
mod report_shots;
mod section;
mod setup;
mod step;
mod test;
mod tidy;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::failure::Result;

/// Set up, test and run dlock.
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
    /// Install the tools of tests and checks (Debian, as root); elsewhere report what is missing
    Setup,

    /// Run setup, then all tests; a missing server is a failure
    Test {
        /// Arguments for `cargo test`, such as `-p dlock-core renewal`
        #[arg(
            value_name = "ARGS",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        arguments: Vec<OsString>,
    },

    /// Run all checks of continuous integration: format, lints, docs, features, tests
    Ci,

    /// Run the slow checks, about an hour: dependencies, packages, the shipped build, long tests
    Nightly {
        /// Which parts: deny, advisories, packages, doctests, pasted, dist, model, kills, peers [default: all]
        #[arg(value_name = "PART")]
        parts: Vec<String>,
    },

    /// Build the static program with its pages, completions, Debian package and SBOM, into target/shipped
    Dist,

    /// Try every fault of every store on real servers; `--help` has the options
    // Its own `--help` is the program's.
    #[command(disable_help_flag = true)]
    Chaos {
        /// Arguments for the runner, such as `redis --seed 7`
        #[arg(
            value_name = "ARGS",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        arguments: Vec<OsString>,
    },

    /// Break the code in one place at a time, and show which tests report it; takes hours
    Mutants(mutants::Options),

    /// Print the tables of the docs that show measured runs, from docs/measured
    Measured(measured::Options),

    /// Measure dlock beside other lock clients on the same servers; with all stores an hour
    Peers(peers::Options),

    /// Check the rules of CONTRIBUTING.md: imports, prose, references, packages; takes seconds
    Tidy(tidy::Options),

    /// Draw the report of `dlock bench` in a browser, into target/report: wide, dark, phone and print
    ReportShots {
        /// The data of a run, as `dlock bench --json` prints it [default: the sample of the tests]
        run: Option<String>,
        /// The verdicts of `dlock verify --json` about the same stores
        verdicts: Option<String>,
    },

    /// Build the program `dlock` and run it; short form: `cargo dlock …`
    // Its own `--help` is the program's.
    #[command(disable_help_flag = true)]
    Dlock {
        /// Arguments for `dlock`
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
        Task::Measured(options) => measured::run(&options),
        Task::Peers(options) => peers::run(&options),
        Task::Nightly { parts } => nightly::run(&parts),
        Task::Dist => dist::run(),
        Task::Chaos { arguments } => Err(chaos::become_it(&arguments)),

        Task::Mutants(options) => mutants::run(&options),
        Task::Tidy(options) => step::step("tidy", || tidy::run(&options)),
        Task::ReportShots { run, verdicts } => {
            report_shots::run(run.as_deref(), verdicts.as_deref())
        }
        Task::Dlock { arguments } => Err(program::become_it(&arguments)),
    }
}
