//! The program `dlock` runs commands while a lock is held, and shows the holder of a lock.
//!
//! `main` reads the command line (`cli`) and calls the module of the subcommand: `run`, `inspect`, `setup`,
//! `bench`, `verify`, `completions`. All of them use `store` and `base`; `base::exit` has all exit codes.

mod base;
mod bench;
mod cli;
mod completions;
mod inspect;
mod run;
mod setup;
mod store;
mod verify;

use std::{env, ffi::OsString, panic, process::ExitCode};

use clap::Parser as _;

use crate::{
    base::{
        exit::{Exit, Failure},
        output,
        trace::{self, Detail},
    },
    cli::{
        args::{Action, Args, VERIFY_WORKER},
        usage,
    },
    run::{guardian, reexec},
};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    // Drivers may panic where the system refuses something, as tokio does without descriptors.
    panic::set_hook(Box::new(|panic| {
        output::say(&format!(
            "internal error, or a call to the system failed: {panic}"
        ));
    }));
    // The driver of ZooKeeper takes the process's provider of TLS.
    #[cfg(feature = "zk")]
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    if arguments.get(1).is_some_and(|word| word == VERIFY_WORKER) {
        return verify::worker::main();
    }
    let result = panic::catch_unwind(|| perform(&arguments)).unwrap_or(Ok(Exit::INTERNAL));
    let exit = result.unwrap_or_else(|failure| {
        output::say(&failure.message);
        failure.exit
    });
    exit.into()
}

fn perform(arguments: &[OsString]) -> Result<Exit, Failure> {
    if let Some(failure) = reexec::become_command(arguments.get(1..).unwrap_or_default()) {
        return Err(failure);
    }
    if let Some(exit) = guardian::serve(arguments.get(1..).unwrap_or_default()) {
        return Ok(exit);
    }
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return Ok(usage::answer(&error)),
    };
    // Some cases of a verification wait for what never comes.
    let verifies = match &args.action {
        Action::Verify(_) => true,
        Action::Bench(bench) => bench.verify.is_some(),
        _ => false,
    };
    let is_quiet = match &args.action {
        Action::Run(run) => run.quiet,
        _ => verifies,
    };
    trace::init(match args.global.verbose {
        0 if is_quiet => Detail::Nothing,
        verbose => Detail::of(verbose),
    });
    match &args.action {
        Action::Run(run) => run::main(&args.global, run),
        Action::Inspect(inspect) => inspect::main(&args.global, inspect),
        Action::Setup(setup) => setup::main(&args.global, setup),
        Action::Bench(bench) => bench::main(&args.global, bench),
        Action::BenchWorker(worker) => bench::worker::main(&args.global, worker),
        Action::Verify(verify) => verify::main(&args.global, verify),
        Action::Completions { shell } => completions::main(*shell),
    }
}
