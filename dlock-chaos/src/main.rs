//! `cargo xtask chaos`: every fault of every store, against what dlock promises. The page is `dlock-chaos/README.md`.

mod cli;
mod cluster;
#[cfg(test)]
mod exceptions;
mod faults;
mod run;
mod say;
mod servers;
mod stores;

use std::process::ExitCode;

use clap::Parser as _;
use dlock_verify::chaos::serve_if_worker;

use crate::{cli::Cli, say::say};

fn main() -> ExitCode {
    if let Some(code) = serve_if_worker(stores::connect) {
        return code;
    }
    match run::run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failed) => {
            say("error", failed.message().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}
