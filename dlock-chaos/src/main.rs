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
use rustix::process::Signal;

use crate::{cli::Cli, run::End, say::say};

fn main() -> ExitCode {
    if let Some(code) = serve_if_worker(stores::connect) {
        return code;
    }
    match run::run(&Cli::parse()) {
        Ok(End::Held) => ExitCode::SUCCESS,
        Ok(End::Failed) => ExitCode::FAILURE,
        Ok(End::Stopped(signal)) => by_signal(signal),
        Err(failed) => {
            say("error", failed.message().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

/// The end by a signal, as shells report it.
fn by_signal(signal: Signal) -> ExitCode {
    let code = 128 + signal.as_raw();
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}
