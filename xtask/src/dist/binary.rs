//! The static binary, for the architecture of this machine.

use std::{env::consts::ARCH, fs, path::Path};

use super::parts::{PACKAGING, PROGRAM};
use crate::{command::Tool, failure::Result, files::cannot};

/// The architectures of most servers.
const ARCHITECTURES: &[&str] = &["x86_64", "aarch64"];

/// Restricts glibc to what is built into it.
const NAMES: &str = "only-built-in-names";

/// The flags of rustc, without a path of this machine: rustc runs in the root of the workspace.
///
/// Without `linux_getrandom` the crate `getrandom` searches for the function as for one of a shared library. A static
/// program has none, and then needs `/dev/urandom`.
fn flags() -> String {
    let object = object();
    format!(
        "-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\" -C link-arg={object}"
    )
}

/// The compiled file, from the root.
fn object() -> String {
    format!("target/{NAMES}.o")
}

/// The target of this machine, named explicitly: so the flags are not for build scripts.
pub(super) fn target() -> String {
    target_of(ARCH)
}

fn target_of(architecture: &str) -> String {
    format!("{architecture}-unknown-linux-gnu")
}

/// The architectures that cannot be built here, each with the reason.
pub(super) fn elsewhere() -> Vec<(&'static str, String)> {
    let others = ARCHITECTURES.iter().filter(|other| **other != ARCH);
    others.map(|other| (*other, why_not(other))).collect()
}

fn why_not(architecture: &str) -> String {
    let target = target_of(architecture);
    let library = Tool::new("rustc")
        .args(["--print", "target-libdir", "--target", &target])
        .read();
    let library = library.unwrap_or_default();
    let library = String::from_utf8_lossy(&library);
    if Path::new(library.trim()).is_dir() {
        format!("no machine of {architecture}, which would also run it")
    } else {
        format!("the standard library of {target} is not installed")
    }
}

/// Builds the program with all stores, and puts it into `folder`.
///
/// # Errors
///
/// When the compiler of C or Rust fails.
pub(super) fn build(root: &Path, folder: &Path) -> Result<()> {
    let source = format!("{PACKAGING}/{NAMES}.c");
    Tool::new("cc")
        .args(["-c", "-O2", "-fPIE", "-Wall", "-Werror", "-o"])
        .args([object(), source])
        .in_folder(root)
        .run()?;
    Tool::cargo(
        "build --quiet --locked --profile dist --package dlock-cli --all-features --target",
    )
    .args([target()])
    .env("RUSTFLAGS", &flags())
    .in_folder(root)
    .run()?;
    let built = root
        .join("target")
        .join(target())
        .join("dist")
        .join(PROGRAM);
    fs::copy(&built, folder.join(PROGRAM))
        .map_err(|error| cannot("copy", &built, &error))
        .map(drop)
}
