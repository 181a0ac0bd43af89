//! The text files of the project, without git: a source archive has none.

use std::{fs, io, path::Path};

use crate::failure::{Failure, Result};

/// Files and folders that a build or a tool makes.
const GENERATED: &[&str] = &[".git", "target", "Cargo.lock", "local.toml"];

/// A file of the project.
pub(super) struct TextFile {
    /// Below the root, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// Every UTF-8 file below `root`, in the order of the paths.
///
/// # Errors
///
/// When a directory or a file cannot be read.
pub(super) fn text_files(root: &Path) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<TextFile>) -> Result<()> {
    for entry in fs::read_dir(directory).map_err(|error| unreadable(directory, &error))? {
        let entry = entry.map_err(|error| unreadable(directory, &error))?;
        let path = entry.path();
        // A link is not followed: it may lead out of the project or in circles.
        let kind = entry
            .file_type()
            .map_err(|error| unreadable(&path, &error))?;
        if GENERATED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
            let name = path.strip_prefix(root).unwrap_or(&path);
            let path = name.to_string_lossy().into_owned();
            files.extend(
                String::from_utf8(bytes)
                    .ok()
                    .map(|text| TextFile { path, text }),
            );
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot read {}: {error}", path.display()))
}
