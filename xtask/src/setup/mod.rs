//! `cargo xtask setup`: what the tests and checks need on this machine.

mod apt;
mod clients;
mod jars;
mod peers;
mod protoc;
mod servers;

use std::path::Path;

pub(crate) use self::servers::set;
use crate::{
    command::Tool,
    failure::{Failure, Result},
    step::{say, step},
};

/// Something that this machine must have.
struct Requirement {
    name: &'static str,
    /// Whether it is there and works.
    is_there: fn() -> bool,
    /// Gets it.
    get: fn() -> Result<()>,
}

/// The jars of the two packages; the server's own program is in one of them.
const JARS: &[&str] = &[
    "/usr/share/java/zookeeper.jar",
    "/usr/share/java/curator-recipes.jar",
];

/// The tools of builds and checks.
const TOOLS: &[Requirement] = &[
    Requirement {
        name: "rustfmt",
        is_there: || Tool::cargo("fmt --version").succeeds(),
        get: || component("rustfmt"),
    },
    Requirement {
        name: "clippy",
        is_there: || Tool::cargo("clippy --version").succeeds(),
        get: || component("clippy"),
    },
    Requirement {
        name: "protoc, which etcd's driver is built with",
        is_there: protoc::is_there,
        get: protoc::get,
    },
];

/// The tools of tests, beyond those.
const SERVERS: &[Requirement] = &[
    Requirement {
        name: "setpriv, which ends the servers of a killed test",
        is_there: || Tool::new("setpriv").args(["--version"]).succeeds(),
        get: || apt::install("util-linux", None),
    },
    Requirement {
        name: "redis-server",
        is_there: || Tool::new("redis-server").args(["--version"]).succeeds(),
        get: || apt::install("redis-server", Some("redis-server")),
    },
    Requirement {
        name: "mariadbd",
        is_there: || {
            Tool::new("/usr/sbin/mariadbd")
                .args(["--version"])
                .succeeds()
        },
        get: || apt::install("mariadb-server", Some("mariadb")),
    },
    Requirement {
        name: "libfaketime, which sets a server's clock",
        is_there: || Path::new(&clock()).is_file(),
        get: || apt::install("libfaketime", None),
    },
    Requirement {
        name: "etcd",
        is_there: || Tool::new("etcd").args(["--version"]).succeeds(),
        get: || apt::install("etcd-server", Some("etcd")),
    },
    Requirement {
        name: "etcdctl",
        is_there: || Tool::new("etcdctl").args(["version"]).succeeds(),
        get: || apt::install("etcd-client", None),
    },
    Requirement {
        name: "ZooKeeper, Curator and Java",
        is_there: || {
            let has_compiler = Tool::new("javac").args(["--version"]).succeeds();
            has_compiler && JARS.iter().all(|jar| Path::new(jar).exists())
        },
        get: || {
            apt::install("zookeeper", None)?;
            apt::install("libcurator-recipes-java", None)?;
            apt::install("default-jdk-headless", None)
        },
    },
    Requirement {
        name: "the set of the newest servers",
        is_there: servers::are_there,
        get: servers::unpack,
    },
    Requirement {
        name: "the newest ZooKeeper",
        is_there: jars::are_there,
        get: jars::unpack,
    },
];

/// Other clients of the stores. Without one its tests are skipped.
const CLIENTS: &[Requirement] = &[
    Requirement {
        name: "redis-py, kazoo and python-etcd3",
        is_there: clients::has_python,
        get: clients::get_python,
    },
    Requirement {
        name: "node-redlock",
        is_there: clients::has_node,
        get: clients::get_node,
    },
    Requirement {
        name: "redsync and etcd's package concurrency",
        is_there: clients::has_go,
        get: clients::get_go,
    },
    REDISSON,
];

/// Redisson, for tests and for measurements.
const REDISSON: Requirement = Requirement {
    name: "Redisson",
    is_there: || peers::REDISSON.is_there(),
    get: || peers::REDISSON.get(),
};

/// Further clients, which only `cargo xtask peers` uses.
const PEERS: &[Requirement] = &[
    Requirement {
        name: "redsync, concurrency and go-zookeeper",
        is_there: peers::has_go,
        get: peers::get_go,
    },
    REDISSON,
    Requirement {
        name: "jetcd",
        is_there: || peers::JETCD.is_there(),
        get: || peers::JETCD.get(),
    },
    Requirement {
        name: "ShedLock",
        is_there: || peers::SHEDLOCK.is_there(),
        get: || peers::SHEDLOCK.get(),
    },
    Requirement {
        name: "Curator's program",
        is_there: || peers::CURATOR_OF_DEBIAN.is_there(),
        get: || peers::CURATOR_OF_DEBIAN.get(),
    },
];

/// Installs what is missing.
///
/// # Errors
///
/// At the first requirement that cannot be met, with the command that was tried.
pub(crate) fn run() -> Result<()> {
    for_checks()?;
    for_tests()
}

/// Installs what builds and checks need.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn for_checks() -> Result<()> {
    step("tools", || TOOLS.iter().try_for_each(Requirement::meet))
}

/// Installs what the tests need beyond that.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn for_tests() -> Result<()> {
    step("servers and clients", || {
        SERVERS.iter().try_for_each(Requirement::meet)?;
        meet_all(CLIENTS, "its tests are skipped");
        Ok(())
    })
}

/// Installs what `cargo xtask peers` measures, as far as it can be had: a client that is missing is left out.
pub(crate) fn for_peers() -> Result<()> {
    step("peers", || {
        meet_all(PEERS, "it is left out");
        Ok(())
    })
}

/// Says what cannot be had, and goes on.
fn meet_all(requirements: &[Requirement], otherwise: &str) {
    for requirement in requirements {
        if let Err(failure) = requirement.meet() {
            say(&format!("{failure}; {otherwise}"));
        }
    }
}

/// Gets what etcd's driver is built with, if it is missing.
///
/// # Errors
///
/// When it cannot be downloaded or written down.
pub(crate) fn for_etcd() -> Result<()> {
    if protoc::is_there() {
        return Ok(());
    }
    protoc::get()
}

/// Where Debian has libfaketime; the tests have the same path.
fn clock() -> String {
    let arch = std::env::consts::ARCH;
    format!("/usr/lib/{arch}-linux-gnu/faketime/libfaketime.so.1")
}

fn component(name: &str) -> Result<()> {
    Tool::new("rustup").args(["component", "add", name]).run()
}

impl Requirement {
    fn meet(&self) -> Result<()> {
        if (self.is_there)() {
            return Ok(());
        }
        let Self { name, .. } = self;
        say(&format!("missing {name}: getting it"));
        (self.get)()
            .map_err(|failure| Failure::new(format!("{name} is missing, and: {failure}")))?;
        if (self.is_there)() {
            return Ok(());
        }
        Err(Failure::new(format!("{name} is still missing")))
    }
}
