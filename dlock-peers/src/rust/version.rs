//! The versions of the clients in Rust, from the lock file of the workspace.

use serde::Deserialize;

use crate::{failure::Failure, process::Version};

const LOCK: &str = include_str!("../../../Cargo.lock");

#[derive(Deserialize)]
struct LockFile {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// The version of the client `name`: of its package, or of the driver that it is made of.
pub(super) fn of(name: &str) -> Result<Version, Failure> {
    let package = match name {
        "dlock" => "dlock-rs",
        "rslock" => "rslock",
        "Lock RPC" => "etcd-client",
        "GET_LOCK" => "sqlx",
        // The driver depends on the store.
        _ => return Ok(Version { version: None }),
    };
    let lock: LockFile = toml::from_str(LOCK)?;
    let mut packages = lock.package.into_iter();
    let found = packages.find(|found| found.name == package);
    Ok(Version {
        version: found.map(|found| found.version),
    })
}
