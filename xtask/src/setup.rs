//! `cargo xtask setup`: what the tests and checks need on this machine.

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
    /// How to get it.
    get: fn() -> Tool,
}

const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "rustfmt",
        is_there: || Tool::cargo("fmt --version").succeeds(),
        get: || Tool::new("rustup").args(["component", "add", "rustfmt"]),
    },
    Requirement {
        name: "clippy",
        is_there: || Tool::cargo("clippy --version").succeeds(),
        get: || Tool::new("rustup").args(["component", "add", "clippy"]),
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

impl Requirement {
    fn meet(&self) -> Result<()> {
        if (self.is_there)() {
            return Ok(());
        }
        let Self { name, .. } = self;
        let get = (self.get)();
        let by_hand = get.by_hand();
        say(&format!("{name} is missing: {by_hand}"));
        get.run()
            .map_err(|failure| Failure::new(format!("{name} is missing, and: {failure}")))?;
        if (self.is_there)() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{name} is still missing after: {by_hand}"
        )))
    }
}
