//! Other clients that dlock shares locks with, from their own registries, below the target directory.
//!
//! Only tests use them, and those skip a client that is not there. So a machine without Python, Node or Go is not set up
//! any further for them.

use std::{fs, path::PathBuf, time::SystemTime};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
};

/// The clients in Python. python-etcd3 does not work with later releases of the two packages after it.
const PYTHON: &[&str] = &[
    "redis",
    "kazoo",
    "etcd3==0.12.0",
    "protobuf<4",
    "tenacity<7",
];

/// The modules of these packages that the programs import.
const PYTHON_MODULES: &[&str] = &["redis", "kazoo", "etcd3"];

/// The clients for Node. This version of redlock is the one that its documentation is for.
const NODE: &[&str] = &["redlock@5.0.0-beta.2", "ioredis@5"];

/// The programs that the tests run.
const SOURCES: &str = "dlock-servers/clients";

/// Where they are; the tests have the same path.
pub(super) fn folder(part: &str) -> Result<PathBuf> {
    let root = Metadata::read()?.workspace_root;
    Ok(root.join("target/clients").join(part))
}

fn go_sources() -> Result<PathBuf> {
    let root = Metadata::read()?.workspace_root;
    Ok(root.join(SOURCES).join("go"))
}

pub(super) fn has_python() -> bool {
    folder("python/bin/python").is_ok_and(|python| {
        let import = format!("import {}", PYTHON_MODULES.join(", "));
        Tool::new("env")
            .args([python.as_os_str()])
            .args(["-c", &import])
            .succeeds()
    })
}

/// # Errors
///
/// At the first command that fails, as do those of the others.
pub(super) fn get_python() -> Result<()> {
    let folder = folder("python")?;
    Tool::new("python3")
        .args(["-m", "venv"])
        .args([&folder])
        .run()?;
    let python = folder.join("bin/python");
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    Tool::new("env")
        .args([python])
        .args(install)
        .args(PYTHON)
        .run()
}

pub(super) fn has_node() -> bool {
    folder("node/node_modules/redlock").is_ok_and(|redlock| redlock.is_dir())
}

pub(super) fn get_node() -> Result<()> {
    let folder = folder("node")?;
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    Tool::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
        .args([&folder])
        .args(NODE)
        .run()
}

/// A program that is older than its source is not there.
pub(super) fn has_go() -> bool {
    let modified = |path: Result<PathBuf>| -> Option<SystemTime> {
        fs::metadata(path.ok()?).ok()?.modified().ok()
    };
    let source = modified(go_sources().map(|folder| folder.join("main.go")));
    modified(folder("go/clients")).is_some_and(|built| Some(built) >= source)
}

pub(super) fn get_go() -> Result<()> {
    Tool::new("go")
        .args(["build", "-o"])
        .args([folder("go/clients")?])
        .args(["."])
        .in_folder(&go_sources()?)
        .run()
}
