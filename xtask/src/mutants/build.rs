//! Building a test program of the copy.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    definition::Killer,
    program::{BIN, CHAOS, LIB},
};
use crate::{
    command::Tool,
    failure::{Failure, Result},
};

/// A line of `cargo --message-format=json`, as far as it is read.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    profile: Profile,
}

#[derive(Debug, Default, Deserialize)]
struct Profile {
    #[serde(default)]
    test: bool,
}

/// Builds the program of `killer`, and returns its path.
///
/// # Errors
///
/// When it does not compile.
pub(super) fn build(copy: &Path, target: &Path, killer: &Killer) -> Result<PathBuf> {
    let cargo = Tool::cargo(task(&killer.program))
        .args(["--quiet", "--message-format=json-render-diagnostics"])
        .args(["--package", &killer.package])
        .args(selection(&killer.program))
        .args([Path::new("--target-dir"), target])
        .in_folder(copy);
    let messages = cargo.read()?;
    executable(&String::from_utf8_lossy(&messages), killer.program != CHAOS)
        .ok_or_else(|| Failure::new(format!("cargo built no test program {}", killer.program)))
}

fn task(program: &str) -> &str {
    match program {
        CHAOS => "build",
        _ => "test --no-run",
    }
}

fn selection(program: &str) -> Vec<&str> {
    match program {
        CHAOS => vec!["--bins"],
        LIB => vec!["--lib"],
        BIN => vec!["--bins"],
        test => vec!["--test", test],
    }
}

/// The program that cargo reports, built for tests or not.
fn executable(messages: &str, for_tests: bool) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut built = messages.filter(|message| message.profile.test == for_tests);
    built.find_map(|message| message.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_one_that_tests() {
        let messages = r#"{"reason":"compiler-artifact","profile":{"test":false},"executable":"/t/dlock"}
            not json
            {"reason":"compiler-artifact","profile":{"test":true},"executable":"/t/it-1"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, true), Some(PathBuf::from("/t/it-1")));
        assert_eq!(executable(messages, false), Some(PathBuf::from("/t/dlock")));
        assert_eq!(executable("", true), None);
    }
}
