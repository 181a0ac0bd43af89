//! `cargo xtask ci`: what continuous integration runs, the quick steps first.

use std::thread;

use crate::{
    command::Tool,
    deny,
    failure::{Failure, Result},
    features, setup,
    step::step,
    test, tidy,
};

/// Runs setup, every check, then [every test](test::cargo_test).
///
/// # Errors
///
/// At the first step that fails, with the command to run by hand.
pub(crate) fn run() -> Result<()> {
    setup::for_checks()?;
    // It mostly waits for downloads, and the checks for the compiler.
    let servers = thread::spawn(setup::for_tests);
    step("format", || Tool::cargo("fmt --all --check").run())?;
    step("tidy", || tidy::run(&tidy::Options::default()))?;
    step("clippy", || {
        Tool::cargo("clippy --quiet --workspace --all-targets --all-features -- -D warnings").run()
    })?;
    step("docs", docs)?;
    features::none()?;
    deny::run()?;
    let panicked = |_| Failure::new("the installation of the servers panicked");
    servers.join().map_err(panicked)??;
    test::cargo_test(&[])
}

/// Private items too: their links go stale like the others.
fn docs() -> Result<()> {
    Tool::cargo("doc --quiet --workspace --no-deps --document-private-items")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
