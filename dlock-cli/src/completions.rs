//! `dlock completions`: what a shell needs to complete dlock's arguments.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{
    base::{
        exit::{Exit, Failure},
        output,
    },
    cli::args::Args,
};

pub(crate) fn main(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    // Into memory first: clap_complete panics when its writer fails, as a closed pipe does.
    clap_complete::generate(shell, &mut Args::command(), "dlock", &mut script);
    output::print(&script)?;
    Ok(Exit::OK)
}
