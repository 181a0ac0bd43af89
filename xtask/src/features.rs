//! Each feature of the facade compiles without the others, and so does the program with no server's store.

use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
    step::step,
};

const FACADE: &str = "dlock-rs";

/// The program, which `cargo dlock` builds with no feature for its first user.
const PROGRAM: &str = "dlock-cli";

/// Compiles the facade with no feature, then with each one alone, then the program with no feature, a step each.
///
/// # Errors
///
/// At the first that does not compile without a warning.
pub(crate) fn run() -> Result<()> {
    step("no feature", || check(&[]))?;
    for feature in of_the_facade(&Metadata::read()?)? {
        step(&format!("feature {feature} alone"), || {
            check(&["--features", feature])
        })?;
    }
    step("program with no feature", || {
        Tool::cargo("clippy --quiet --all-targets --package")
            .args([PROGRAM, "--", "-D", "warnings"])
            .run()
    })
}

fn check(selection: &[&str]) -> Result<()> {
    Tool::cargo("clippy --quiet --lib --no-default-features --package")
        .args([FACADE])
        .args(selection)
        .args(["--", "-D", "warnings"])
        .run()
}

fn of_the_facade(metadata: &Metadata) -> Result<Vec<&str>> {
    let facade = metadata
        .packages
        .iter()
        .find(|package| package.name == FACADE);
    let facade = facade.ok_or_else(|| Failure::new(format!("there is no package {FACADE}")))?;
    Ok(facade
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
        assert_eq!(of_the_facade(&metadata).unwrap(), ["file", "redis"]);
    }
}
