//! The copy of the workspace in which the mutants are made.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::definition::Mutant;
use crate::failure::{Failure, Result};

/// Folders at the root that a build makes, or no test needs.
const LEFT_OUT: &[&str] = &[".git", "mutants", "target"];

/// `target/mutants`: the copy, and what is built from it.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    path: PathBuf,
}

impl Folder {
    pub(super) fn of(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            path: root.join("target").join("mutants"),
        }
    }

    /// The copy.
    pub(super) fn copy(&self) -> PathBuf {
        self.path.join("copy")
    }

    /// Where cargo builds the copy: programs of a mutant never lie beside those of the project.
    pub(super) fn target(&self) -> PathBuf {
        self.path.join("target")
    }

    /// Which tests pass on the copy without a mutant.
    pub(super) fn passed(&self) -> PathBuf {
        self.path.join("passed.json")
    }

    /// Keeps other runs out until the file is dropped: two would change one copy.
    ///
    /// # Errors
    ///
    /// When there is another run.
    pub(super) fn lock(&self) -> Result<File> {
        let path = self.path.join("lock");
        fs::create_dir_all(&self.path).map_err(|error| failed(&self.path, &error))?;
        let file = File::create(&path).map_err(|error| failed(&path, &error))?;
        file.try_lock().map_err(|_| {
            let copy = self.copy();
            Failure::new(format!(
                "another run uses {}; wait for its end",
                copy.display()
            ))
        })?;
        Ok(file)
    }

    /// Makes the copy equal to the project; whether it was not.
    ///
    /// An equal file is not touched, so that cargo builds only what has changed.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or written.
    pub(super) fn refresh(&self) -> Result<bool> {
        let copy = self.copy();
        fs::create_dir_all(&copy).map_err(|error| failed(&copy, &error))?;
        let (mut wanted, mut found) = (BTreeSet::new(), BTreeSet::new());
        collect(&self.root, Path::new(""), &mut wanted)?;
        collect(&copy, Path::new(""), &mut found)?;
        let mut changed = false;
        for gone in found.difference(&wanted) {
            let path = copy.join(gone);
            fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
            changed = true;
        }
        for path in wanted {
            let from = self.root.join(&path);
            let text = fs::read(&from).map_err(|error| failed(&from, &error))?;
            changed |= write_if_other(&copy.join(path), &text)?;
        }
        Ok(changed)
    }

    /// Breaks the copy.
    ///
    /// # Errors
    ///
    /// When the mutant does not fit its file, or the file cannot be written.
    pub(super) fn apply(&self, mutant: &Mutant) -> Result<()> {
        let (original, copy) = (self.root.join(&mutant.file), self.copy().join(&mutant.file));
        let text = fs::read_to_string(&original).map_err(|error| failed(&original, &error))?;
        let changed = mutant
            .applied_to(&text)
            .map_err(|why| Failure::new(format!("{}: {why}", mutant.name)))?;
        write_if_other(&copy, changed.as_bytes()).map(drop)
    }

    /// Mends the copy. The file gets a new time: with its old one cargo would keep what the mutant built.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn restore(&self, mutant: &Mutant) -> Result<()> {
        let original = self.root.join(&mutant.file);
        let text = fs::read(&original).map_err(|error| failed(&original, &error))?;
        write_if_other(&self.copy().join(&mutant.file), &text).map(drop)
    }
}

fn write_if_other(path: &Path, text: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|found| found == text) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    fs::write(path, text).map_err(|error| failed(path, &error))?;
    Ok(true)
}

/// The files below `root`, by their paths from there. Links are left out.
fn collect(root: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let full = root.join(folder);
    for entry in fs::read_dir(&full).map_err(|error| failed(&full, &error))? {
        let entry = entry.map_err(|error| failed(&full, &error))?;
        let kind = entry.file_type().map_err(|error| failed(&full, &error))?;
        let name = entry.file_name();
        let is_at_root = folder.as_os_str().is_empty();
        if is_at_root && LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        if kind.is_dir() {
            collect(root, &folder.join(name), files)?;
        } else if kind.is_file() {
            files.insert(folder.join(name));
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot copy {}: {error}", path.display()))
}
