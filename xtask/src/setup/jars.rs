//! The newest ZooKeeper: two jars in the set of the newest servers, which the machine's own Java runs
//! beside its own libraries.
//!
//! Debian's package needs two hundred others, a Java among them; so it is unpacked without those.

use super::{apt, servers};
use crate::{command::Tool, failure::Result};

const JARS: &[&str] = &[
    "usr/share/java/zookeeper.jar",
    "usr/share/java/zookeeper-jute.jar",
];

/// The script that is run inside the set. Its lists of packages may be old, and like the set itself they may come
/// from a mirror that is older than its date.
const STEPS: &str = "cd /tmp \
    && apt-get --quiet --option Acquire::Check-Valid-Until=false update \
    && apt-get --quiet download libzookeeper-java \
    && dpkg --extract libzookeeper-java_*.deb / \
    && rm libzookeeper-java_*.deb";

/// Whether both are there.
pub(super) fn are_there() -> bool {
    servers::set().is_ok_and(|set| JARS.iter().all(|jar| set.join(jar).exists()))
}

/// Puts them into the set, which must be there.
///
/// # Errors
///
/// Without root, or at the first command that fails.
pub(super) fn unpack() -> Result<()> {
    apt::by_root("cargo xtask setup")?;
    Tool::new("chroot")
        .args([servers::set()?])
        .args(["sh", "-c", STEPS])
        .run()
}
