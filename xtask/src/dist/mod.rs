//! `cargo xtask dist`: the program and its files as they are given to users, in `target/shipped`.
//!
//! Not in `target/dist`: cargo has its own files of the profile `dist` there.

mod binary;
mod parts;
mod sbom;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) use self::parts::PROGRAM;
use self::parts::{PACKAGING, install};
use crate::{
    command::Tool,
    failure::Result,
    files::{cannot, write},
    metadata::Metadata,
    setup,
    step::{skip, step},
};

/// The image without anything but the program.
pub(crate) const CONTAINERFILE: &str = "Containerfile";

/// The folder of the manual pages.
pub(crate) const PAGES: &str = "man";

const SUMS: &str = "SHA256SUMS";

/// Shells, and the names that their completion files must have.
const COMPLETIONS: &[(&str, &str)] =
    &[("bash", "dlock"), ("zsh", "_dlock"), ("fish", "dlock.fish")];

/// The folder of all that is shipped.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join("target/shipped")
}

/// Makes everything, in place of what an earlier run made.
///
/// # Errors
///
/// When a part fails, or a tool of it cannot be installed.
pub(crate) fn run() -> Result<()> {
    let root = Metadata::read()?.workspace_root;
    let folder = folder(&root);
    setup::for_etcd()?;
    for (architecture, why) in binary::elsewhere() {
        skip(&format!("binary of {architecture}"), &why);
    }
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    step("static binary", || binary::build(&root, &folder))?;
    step("pages, completions", || texts(&root, &folder))?;
    step("Debian package", || package(&folder))?;
    step("SBOM", || sbom::make(&folder))?;
    step("checksums", || sums(&folder))
}

/// All that the program prints about itself, and the container file.
fn texts(root: &Path, folder: &Path) -> Result<()> {
    let program = || Tool::new("env").args([folder.join(PROGRAM)]);
    let pages = folder.join(PAGES);
    fs::create_dir(&pages).map_err(|error| cannot("create", &pages, &error))?;
    program().args(["man"]).args([&pages]).run()?;
    for (shell, name) in COMPLETIONS {
        let script = program().args(["completions", shell]).read()?;
        let script = String::from_utf8_lossy(&script);
        write(&folder.join("completions").join(name), &script)?;
    }
    let file = root.join(PACKAGING).join(CONTAINERFILE);
    fs::copy(&file, folder.join(CONTAINERFILE))
        .map_err(|error| cannot("copy", &file, &error))
        .map(drop)
}

/// The package of Debian, as `dlock-cli/Cargo.toml` describes it.
fn package(folder: &Path) -> Result<()> {
    install("deb")?;
    Tool::cargo("deb --quiet --no-build --no-strip --package dlock-cli --profile dist --target")
        .args([binary::target()])
        .args([Path::new("--output"), folder])
        .read()
        .map(drop)
}

/// The checksums of the files that users get, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = files.map(|file| file.file_name()).collect();
    names.sort_unstable();
    let sums = Tool::new("sha256sum")
        .args(names)
        .in_folder(folder)
        .read()?;
    write(&folder.join(SUMS), &String::from_utf8_lossy(&sums))
}
