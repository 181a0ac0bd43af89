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
///
/// # Errors
///
/// Unknown, when there is nothing to compare, or a figure cannot be judged by `fail_over`.
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
        true => output::json(&compared)?,
        false => fail_over.map_or_else(|| compared.to_string(), |limit| compared.within(limit)),
    };
    output::print(text.as_bytes())?;
    if compared.changes.is_empty() {
        let why = "nothing to compare: no store has a figure in both runs";
        return Err(Failure::new(Exit::UNKNOWN, why));
    }
    let Some(limit) = fail_over else {
        return Ok(Exit::OK);
    };
    if compared.worse_by_more_than(limit).next().is_some() {
        return Ok(Exit::WORSE);
    }
    match compared.unknown(limit) {
        Some(why) => Err(Failure::new(Exit::UNKNOWN, why)),
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
