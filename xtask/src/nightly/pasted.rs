//! The programs of the README, pasted into a new project: they build without a warning, and run.

use std::{fs, path::Path};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    files::{cannot, write},
    metadata::Metadata,
};

/// The directory of locks in the README. Here each program gets one of its own.
const DIRECTORY: &str = "/var/lock/app";

/// The dependencies that the README names. Its programs need no feature of tokio beyond those that dlock turns on.
const DEPENDENCIES: &str = "dlock-rs = { path = \"{root}/dlock\" }\ntokio = \"1\"\n";

/// Builds and runs each program of the README.
///
/// # Errors
///
/// When there is none, or one does not build or fails.
pub(super) fn run() -> Result<()> {
    let root = Metadata::read()?.workspace_root;
    let readme = root.join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| cannot("read", &readme, &error))?;
    let programs = programs(&text);
    if programs.is_empty() {
        return Err(Failure::new("the README has no program"));
    }
    let folder = root.join("target").join("pasted");
    let _ = fs::remove_dir_all(&folder);
    for (number, program) in (1..).zip(programs) {
        let project = folder.join(format!("program-{number}"));
        let locks = project.join("locks").display().to_string();
        let dependencies = DEPENDENCIES.replace("{root}", &root.display().to_string());
        let manifest = format!(
            "[package]\nname = \"pasted-{number}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}"
        );
        write(&project.join("Cargo.toml"), &manifest)?;
        let program = format!("#![deny(warnings)]\n{}", program.replace(DIRECTORY, &locks));
        write(&project.join("src/main.rs"), &program)?;
        // The versions of this repository are here already.
        let lock = root.join("Cargo.lock");
        fs::copy(&lock, project.join("Cargo.lock"))
            .map_err(|error| cannot("copy", &lock, &error))?;
        Tool::cargo("run --quiet --manifest-path")
            .args([project.join("Cargo.toml")])
            .args([Path::new("--target-dir"), &root.join("target")])
            .run()?;
    }
    Ok(())
}

/// The blocks of Rust in `text`, which are whole programs.
fn programs(text: &str) -> Vec<String> {
    let mut programs = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```rust") {
            let program = lines.by_ref().take_while(|line| *line != "```");
            programs.push(program.map(|line| format!("{line}\n")).collect());
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_rust_are_found() {
        let text = "a\n```rust,no_run\nfn main() {\n}\n```\nb\n```toml\nx = 1\n```\n```rust\nfn f() {}\n```\n";
        assert_eq!(programs(text), ["fn main() {\n}\n", "fn f() {}\n"]);
    }
}
