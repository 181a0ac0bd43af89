//! `cargo xtask setup`: what the tests and checks need on this machine.

mod apt;
mod servers;

use std::path::Path;

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

const REQUIREMENTS: &[Requirement] = &[
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
        name: "the set of the newest servers",
        is_there: servers::are_there,
        get: servers::unpack,
    },
];

/// Installs what is missing.
///
/// # Errors
///
/// At the first requirement that cannot be met, with the command that was tried.
pub(crate) fn run() -> Result<()> {
    step("setup", || {
        REQUIREMENTS.iter().try_for_each(Requirement::meet)
    })
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
