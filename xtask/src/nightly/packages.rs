//! The packages as a registry would have them: they build, and their examples run.

use std::{fs, path::Path};

use crate::{
    command::Tool,
    failure::Result,
    files::{cannot, write},
    metadata::Metadata,
};

/// The folder in which cargo builds, below the root.
const TARGET: &str = "target";

/// Makes each package that is published and builds it from its archive alone. The others read files beside them.
///
/// # Errors
///
/// When a file or a dependency is missing from a package.
pub(super) fn build() -> Result<()> {
    let metadata = Metadata::read()?;
    let others = metadata
        .packages
        .iter()
        .filter(|package| !package.is_published());
    let excluded = others.flat_map(|package| ["--exclude", &package.name]);
    Tool::cargo("package --quiet --workspace --allow-dirty")
        .args(excluded)
        .run()
}

/// Runs the examples of the documentation in the unpacked archives.
///
/// # Errors
///
/// When an archive cannot be unpacked, or an example fails.
pub(super) fn doctests() -> Result<()> {
    let metadata = Metadata::read()?;
    let target = metadata.workspace_root.join(TARGET);
    let folder = target.join("nightly");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    let published = metadata
        .packages
        .iter()
        .filter(|package| package.is_published());
    let mut names = Vec::new();
    for package in published {
        let name = format!("{}-{}", package.name, package.version);
        let archive = target.join("package").join(format!("{name}.crate"));
        Tool::new("tar")
            .args(["-xzf"])
            .args([&archive])
            .args(["-C"])
            .args([&folder])
            .run()?;
        names.push((package.name.as_str(), name));
    }
    write(&folder.join("Cargo.toml"), &workspace(&names))?;
    let lock = metadata.workspace_root.join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).map_err(|error| cannot("copy", &lock, &error))?;
    Tool::cargo("test --quiet --doc --workspace --all-features --manifest-path")
        .args([folder.join("Cargo.toml")])
        .args([Path::new("--target-dir"), &target])
        .run()
}

/// A workspace of the unpacked packages, which stand in for those of the registry.
fn workspace(names: &[(&str, String)]) -> String {
    let folders = names.iter().map(|(_, folder)| format!("\"{folder}\""));
    let folders: Vec<_> = folders.collect();
    let patches = names
        .iter()
        .map(|(name, folder)| format!("{name} = {{ path = \"{folder}\" }}\n"));
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{}",
        folders.join(", "),
        patches.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unpacked_packages_replace_those_of_the_registry() {
        let text = workspace(&[("a", "a-1.0.0".to_owned()), ("b", "b-1.0.0".to_owned())]);
        assert_eq!(
            text,
            "[workspace]\nresolver = \"3\"\nmembers = [\"a-1.0.0\", \"b-1.0.0\"]\n\n\
             [patch.crates-io]\na = { path = \"a-1.0.0\" }\nb = { path = \"b-1.0.0\" }\n"
        );
    }
}
