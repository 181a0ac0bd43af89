//! `cargo xtask test`: every test, with everything that it needs.

use std::ffi::OsString;

use crate::{
    command::Tool,
    failed::Failed,
    failure::Result,
    memory_folder::MemoryFolder,
    setup,
    step::{complain, say, step},
};

/// How many tests run at once, where their program does not say it: those of programs mostly wait.
const THREADS: &str = "4";

/// Runs setup, then the tests that `arguments` choose.
///
/// # Errors
///
/// As [`cargo_test`].
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    // No test needs rustfmt or clippy; a test that lacks something says so itself.
    if let Err(failure) = setup::run() {
        complain(&format!("warning: {failure}"));
    }
    cargo_test(arguments)
}

/// Runs unit tests, integration tests and doctests, and builds the examples.
///
/// `arguments` go to `cargo test`. A server that is missing makes its tests fail, by name. What
/// failed is said once more at the end.
///
/// # Errors
///
/// When a test fails or does not compile.
pub(crate) fn cargo_test(arguments: &[OsString]) -> Result<()> {
    let tests = Tool::cargo("test --no-fail-fast")
        .env("DLOCK_TEST_REQUIRE", "all")
        .env("RUST_TEST_THREADS", THREADS);
    let tests = if names_a_package(arguments) {
        tests
    } else {
        // The tests of the program on real servers need its stores.
        tests.args(["--workspace", "--all-features"])
    };
    let memory = MemoryFolder::open();
    let tests = match &memory {
        Some(memory) => tests.env("TMPDIR", &memory.path().display().to_string()),
        None => tests,
    };
    let mut failed = Failed::default();
    let result = step("test", || {
        tests.args(arguments).run_seen(|line| failed.read(&line))
    });
    // Dozens of programs ran since, and the reports are far above.
    failed.reports().iter().for_each(|line| complain(line));
    result?;
    say(if arguments.is_empty() {
        "All tests passed."
    } else {
        "The chosen tests passed."
    });
    Ok(())
}

/// Cargo ignores `--package` beside `--workspace`.
fn names_a_package(arguments: &[OsString]) -> bool {
    let mut for_cargo = arguments
        .iter()
        .take_while(|argument| argument.as_os_str() != "--");
    for_cargo.any(|argument| {
        let name = argument.to_string_lossy();
        name.starts_with("-p") || name.starts_with("--package")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(arguments: &[&str]) -> bool {
        names_a_package(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_package_is_named_in_each_spelling() {
        assert!(named(&["-p", "dlock-core"]));
        assert!(named(&["state", "-pdlock-core"]));
        assert!(named(&["--package=dlock-core"]));
        assert!(!named(&["state"]));
        assert!(!named(&["--", "--package"]));
    }
}
