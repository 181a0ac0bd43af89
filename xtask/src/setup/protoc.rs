//! The compiler for etcd's protocol files. Its path is this machine's, so it is in a file that git
//! ignores and `.cargo/config.toml` includes.

use std::{env, fs, path::PathBuf};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
};

const VARIABLE: &str = "PROTOC";

/// Whether cargo's builds find it.
pub(super) fn is_there() -> bool {
    // The user's own, or what cargo's configuration has under `[env]`. A file that has just been written counts
    // for the programs that are started from now on.
    let given = env::var_os(VARIABLE).map(PathBuf::from);
    given
        .into_iter()
        .chain(written())
        .any(|path| path.is_file())
}

/// Builds it into cargo's cache, and writes down where.
///
/// # Errors
///
/// When it cannot be downloaded or written down.
pub(super) fn get() -> Result<()> {
    let lines =
        Tool::cargo("run --quiet --package xtask --features protoc --bin protoc-env").read()?;
    let lines = String::from_utf8_lossy(&lines);
    let file = file()?;
    fs::write(&file, format!("[env]\n{lines}"))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

fn file() -> Result<PathBuf> {
    let root = Metadata::read()?.workspace_root;
    Ok(root.join(".cargo/local.toml"))
}

/// The path in the file.
fn written() -> Option<PathBuf> {
    let text = fs::read_to_string(file().ok()?).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
    let (_, value) = lines.find(|(key, _)| *key == VARIABLE)?;
    value.split('\'').nth(1).map(PathBuf::from)
}
