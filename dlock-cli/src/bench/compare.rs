//! `dlock bench --compare`: what changed between two runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use dlock_bench::{compare::compare, data::Run};

use crate::base::{
    exit::{Exit, Failure},
    output,
};

/// Prints the changes; the exit is 1 if one is for the worse by more than `fail_over`.
pub(super) fn main(
    files: &[PathBuf],
    fail_over: Option<f64>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let [old, new] = files else {
        return Err(Failure::usage("--compare needs two files"));
    };
    let compared = compare(&read(old)?, &read(new)?);
    let text = match as_json {
        true => {
            serde_json::to_string(&compared)
                .map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?
                .to_owned()
                + "\n"
        }
        false => compared.to_string(),
    };
    output::print(text.as_bytes())?;
    let bound = fail_over.unwrap_or(f64::INFINITY);
    match compared.worse_by_more_than(bound).next() {
        Some(_) => Ok(Exit::WORSE),
        None => Ok(Exit::OK),
    }
}

/// Reads an earlier run.
///
/// # Errors
///
/// When the file is none.
pub(super) fn read(file: &Path) -> Result<Run, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let why = output::describe(&error);
        Failure::usage(format!("cannot read {}: {why}", file.display()))
    })?;
    Run::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}
