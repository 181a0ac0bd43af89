//! Each feature of the facade and of the program compiles without the others.

use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
    step::step,
};

const FACADE: &str = "dlock-rs";

/// The program, which `cargo dlock` builds with no feature for its first user.
const PROGRAM: &str = "dlock-cli";

/// Compiles the facade and the program with no feature, a step each: so their first users build them.
///
/// # Errors
///
/// At the first that does not compile without a warning.
pub(crate) fn none() -> Result<()> {
    step("no feature", || check(&[]))?;
    step("program with no feature", || check_program(&[]))
}

/// Compiles the facade with each feature alone, then the program likewise, a step each.
///
/// # Errors
///
/// At the first that does not compile without a warning.
pub(crate) fn each() -> Result<()> {
    let metadata = Metadata::read()?;
    for feature in of(&metadata, FACADE)? {
        step(&format!("feature {feature} alone"), || {
            check(&["--features", feature])
        })?;
    }
    for feature in of(&metadata, PROGRAM)? {
        step(&format!("program with feature {feature} alone"), || {
            check_program(&["--features", feature])
        })?;
    }
    Ok(())
}

fn check_program(selection: &[&str]) -> Result<()> {
    Tool::cargo("clippy --quiet --all-targets --package")
        .args([PROGRAM])
        .args(selection)
        .args(["--", "-D", "warnings"])
        .run()
}

fn check(selection: &[&str]) -> Result<()> {
    Tool::cargo("clippy --quiet --lib --no-default-features --package")
        .args([FACADE])
        .args(selection)
        .args(["--", "-D", "warnings"])
        .run()
}

/// The features of the package `name`.
fn of<'a>(metadata: &'a Metadata, name: &str) -> Result<Vec<&'a str>> {
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name == name);
    let package = package.ok_or_else(|| Failure::new(format!("there is no package {name}")))?;
    Ok(package
        .features
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "default")
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_but_the_default_is_a_backend() {
        let json = r#"{
            "workspace_root": "/repo",
            "packages": [
                {"name": "other", "features": {"x": []}},
                {"name": "dlock-rs", "features": {"default": ["file"], "file": [], "redis": []}}
            ]
        }"#;
        let metadata: Metadata = serde_json::from_str(json).unwrap();
        assert_eq!(of(&metadata, FACADE).unwrap(), ["file", "redis"]);
    }
}
