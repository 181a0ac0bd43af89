//! The list of all that is inside of the binary, in the format CycloneDX.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{binary, parts::install};
use crate::{
    command::Tool,
    failure::{Failure, Result},
    files::{cannot, write},
    metadata::Metadata,
};

/// The name that readers of the format expect.
const NAME: &str = "dlock.cdx.json";

/// The program's own list.
const OF_PROGRAM: &str = "dlock_bin.cdx.json";

/// Makes the list, and puts it into `folder`.
///
/// # Errors
///
/// When `cargo cyclonedx` cannot be installed, or fails.
pub(super) fn make(folder: &Path) -> Result<()> {
    install("cyclonedx")?;
    let metadata = Metadata::read()?;
    let made = Tool::cargo("cyclonedx --quiet --format json --spec-version 1.5 --all-features")
        .args(["--describe", "binaries", "--no-build-deps", "--target"])
        .args([binary::target()])
        .args([Path::new("--manifest-path")])
        .args([metadata.workspace_root.join("dlock-cli/Cargo.toml")])
        .run();
    let list = metadata.workspace_root.join("dlock-cli").join(OF_PROGRAM);
    let text = fs::read_to_string(&list).map_err(|error| cannot("read", &list, &error));
    // Of each program of the workspace there is one.
    for package in &metadata.packages {
        for target in &package.targets {
            let list = format!("{}_bin.cdx.json", target.name);
            let _ = fs::remove_file(package.directory().join(list));
        }
    }
    made?;
    let root = metadata.workspace_root.display().to_string();
    let text = with_glibc(&text?.replace(&root, ""), &glibc()?)?;
    write(&folder.join(NAME), &text)
}

/// The version of the C library, which is linked into the binary.
fn glibc() -> Result<String> {
    let answer = Tool::new("getconf").args(["GNU_LIBC_VERSION"]).read()?;
    let answer = String::from_utf8_lossy(&answer);
    let version = answer.split_whitespace().nth(1);
    version
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("this is no version of glibc: {answer}")))
}

/// `list` with the C library among its components: cargo knows only crates.
fn with_glibc(list: &str, version: &str) -> Result<String> {
    let failed = |why: &str| Failure::new(format!("cannot read {OF_PROGRAM}: {why}"));
    let mut list: Value = serde_json::from_str(list).map_err(|error| failed(&error.to_string()))?;
    let components = list.get_mut("components").and_then(Value::as_array_mut);
    components
        .ok_or_else(|| failed("no components"))?
        .push(json!({
            "type": "library",
            "bom-ref": format!("pkg:generic/glibc@{version}"),
            "name": "glibc",
            "version": version,
            "licenses": [{"license": {"id": "LGPL-2.1-or-later"}}],
            "purl": format!("pkg:generic/glibc@{version}"),
        }));
    serde_json::to_string_pretty(&list).map_err(|error| failed(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_a_component() {
        let list = with_glibc(r#"{"components": [{"name": "tokio"}]}"#, "2.36").unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list["components"][0]["name"], "tokio");
        assert_eq!(list["components"][1]["purl"], "pkg:generic/glibc@2.36");
        let why = with_glibc("{}", "2.36").unwrap_err().to_string();
        assert_eq!(why, "cannot read dlock_bin.cdx.json: no components");
    }
}
