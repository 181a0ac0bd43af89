//! The newest versions of the servers: programs and libraries of Debian's development branch,
//! unpacked beside the build. Nothing of the machine's own system changes.
//!
//! The tests run them with their own loader and libraries (`dlock_servers::Program`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::apt;
use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
};

const BRANCH: &str = "sid";
const PACKAGES: &str = "redis-server,valkey-server,etcd-server,etcd-client,mysql-server-core";

/// The programs of the packages. A set that lacks one is made again.
const PROGRAMS: &[&str] = &[
    "usr/bin/redis-server",
    "usr/bin/valkey-server",
    "usr/bin/etcd",
    "usr/bin/etcdctl",
    "usr/sbin/mysqld",
];

/// Whether the set is whole.
pub(super) fn are_there() -> bool {
    set().is_ok_and(|set| {
        let mut programs = PROGRAMS.iter();
        programs.all(|program| set.join(program).exists())
    })
}

/// Unpacks the set; about 700 MB of disk, and a minute on a fast network.
///
/// # Errors
///
/// Without root or apt: what to do by hand. Else at the first command that fails.
pub(super) fn unpack() -> Result<()> {
    apt::by_root("cargo xtask setup")?;
    if !Tool::new("debootstrap").args(["--version"]).succeeds() {
        apt::install("debootstrap", None)?;
    }
    let set = set()?;
    // Only a whole set gets the name that the tests use.
    let partial = set.with_extension("partial");
    remove(&partial)?;
    let packages = format!("--include={PACKAGES}");
    Tool::new("debootstrap")
        .args(["--variant=minbase", &packages, BRANCH])
        .args([partial.as_os_str()])
        .args([apt::mirror()?])
        .run()?;
    remove(&set)?;
    fs::rename(&partial, &set)
        .map_err(|error| Failure::new(format!("cannot rename {}: {error}", partial.display())))
}

/// Where it is; the tests have the same path.
pub(crate) fn set() -> Result<PathBuf> {
    let root = Metadata::read()?.workspace_root;
    Ok(root.join("target/servers").join(BRANCH))
}

/// An unpack that was interrupted may have left the machine's /proc and /sys mounted inside.
fn remove(set: &Path) -> Result<()> {
    for mounted in ["proc", "sys"] {
        let _ = Tool::new("umount").args([set.join(mounted)]).succeeds();
    }
    fs::create_dir_all(set.parent().unwrap_or(set))
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", set.display())))?;
    Tool::new("rm")
        .args(["--recursive", "--force", "--one-file-system", "--"])
        .args([set])
        .run()
}
