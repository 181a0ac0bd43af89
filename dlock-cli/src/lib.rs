//! The program `dlock` as a library: it takes the stores that it knows, so that a store of another project gets `run`,
//! `inspect`, `verify` and `bench`.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use dlock::file::{FileConfig, FileLock};
//!
//! fn main() -> ExitCode {
//!     dlock_cli::main(dlock::registry().register("jobs", |settings| {
//!         let config = FileConfig::from_settings(settings)?;
//!         Ok(Box::pin(async { Ok(Box::new(FileLock::open(config)?) as _) }))
//!     }))
//! }
//! ```
//!
//! The package `examples/own-store` of the repository is a whole one, with a store that processes share.

// `main` reads the command line (`cli`) and calls the module of the subcommand: `run`, `inspect`, `setup`, `bench`,
// `verify`, `completions`, `man`. All of them use `store` and `base`; `base::exit` has all exit codes.

mod base;
mod bench;
mod cli;
mod completions;
mod inspect;
mod man;
mod migrate;
mod run;
mod setup;
mod store;
mod verify;

use std::{
    env,
    ffi::OsString,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use dlock::config::Registry;

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
    store::MEMORY,
};

/// Runs the program on the stores of `registry`, by the arguments of this process; `main` of a program returns its
/// result.
///
/// The program calls itself `dlock`, also if its file has another name. It starts itself again, as a guardian of a
/// command or as a worker of `verify` and `bench`. So this is the first call of `main`, and `registry` has the same
/// stores each time. `memory` is left out: one process alone has its locks.
///
/// About a store with a scheme of another project the program knows what its URL and its backend say. `verify` reads no
/// settings of it and `bench` has no driver to compare it with. Entries that locks leave in it are not removed. Both
/// commands say so.
///
/// Replaces the process's panic hook, and handles signals.
#[must_use]
pub fn main(registry: Registry) -> ExitCode {
    // What is made of stores is made of these.
    let registry = dlock::layers::register(registry.without(MEMORY));
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
        return verify::worker::main(registry);
    }
    // After a panic the process ends.
    let performed = panic::catch_unwind(AssertUnwindSafe(|| perform(&registry, &arguments)));
    let result = performed.unwrap_or(Ok(Exit::INTERNAL));
    let exit = result.unwrap_or_else(|failure| {
        output::say(&failure.message);
        failure.exit
    });
    exit.into()
}

fn perform(registry: &Registry, arguments: &[OsString]) -> Result<Exit, Failure> {
    if let Some(failure) = reexec::become_command(arguments.get(1..).unwrap_or_default()) {
        return Err(failure);
    }
    if let Some(exit) = guardian::serve(arguments.get(1..).unwrap_or_default()) {
        return Ok(exit);
    }
    let args = match Args::read(registry, arguments) {
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
        // The program that started it says so.
        Action::BenchWorker(_) => true,
        _ => verifies,
    };
    trace::init(match args.global.verbose {
        0 if is_quiet => Detail::Nothing,
        0 if matches!(&args.action, Action::Bench(_)) => Detail::FewWaits,
        verbose => Detail::of(verbose),
    });
    match &args.action {
        Action::Run(run) => run::main(registry, &args.global, run),
        Action::Inspect(inspect) => inspect::main(registry, &args.global, inspect),
        Action::Setup(setup) => setup::main(registry, &args.global, setup),
        Action::Bench(bench) => bench::main(registry, &args.global, bench),
        Action::BenchWorker(worker) => bench::worker::main(registry, &args.global, worker),
        Action::Verify(verify) => verify::main(registry, &args.global, verify),
        Action::Migrate(migrate) => migrate::main(registry, &args.global, migrate),
        Action::Completions { shell } => completions::main(*shell),
        Action::Man { directory } => man::main(directory),
    }
}
