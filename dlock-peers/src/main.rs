//! `cargo xtask peers`: dlock beside other lock clients, on the same servers. The page is `dlock-peers/README.md`.
//!
//! The clients in Rust are in this program, too: it starts itself again for each of them.

mod catalogue;
mod cli;
mod data;
mod delay;
mod failure;
mod measure;
mod names;
mod process;
mod record;
mod rust;
mod say;
mod server;
mod store;

use std::{env, process::ExitCode};

use clap::Parser as _;

use crate::{
    cli::Cli,
    names::{SPIN, VERB},
    say::complain,
};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    let done = match &words[..] {
        [_, verb, name, url] if verb == VERB => rust::serve(name, url),
        [_, verb] if verb == SPIN => dlock_bench::worker::spin().map_err(Into::into),
        _ => measure::run(&Cli::parse()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
