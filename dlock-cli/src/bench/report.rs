//! The file of the report: checked before the measurement, written after it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use dlock_bench::{data::Run, report};

use crate::base::{
    exit::{Exit, Failure},
    output,
};

/// A file that can be written.
pub(super) struct ReportFile {
    path: PathBuf,
    /// The file, if it was there before. A pipe would end with its last writer.
    existing: Option<File>,
}

impl ReportFile {
    /// Checks that `path` can be written. What is in the file stays until the report is there, and a new file is not
    /// left behind.
    ///
    /// # Errors
    ///
    /// Wrong usage, when it cannot be written.
    pub(super) fn check(path: &Path) -> Result<Self, Failure> {
        let existing = Self::probe(path).map_err(|error| {
            let why = output::describe(&error);
            Failure::usage(format!("cannot write {}: {why}", path.display()))
        })?;
        Ok(Self {
            path: path.to_owned(),
            existing,
        })
    }

    fn probe(path: &Path) -> io::Result<Option<File>> {
        match File::options().write(true).open(path) {
            Ok(file) => return Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match File::create_new(path) {
            Ok(_) => fs::remove_file(path)?,
            // A link to a file that is not there yet.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                File::create(path)?;
                fs::remove_file(fs::canonicalize(path)?)?;
            }
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Writes the report of `run`.
    ///
    /// # Errors
    ///
    /// When the system refuses it all the same, such as on a full disk.
    pub(super) fn write(self, run: &Run) -> Result<(), Failure> {
        let html = report::html(run);
        let html = html.map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?;
        let written = match self.existing {
            Some(file) => overwrite(file, html.as_bytes()),
            None => fs::write(&self.path, html),
        };
        written.map_err(|error| {
            let why = output::describe(&error);
            let why = format!("cannot write {}: {why}", self.path.display());
            Failure::new(Exit::INTERNAL, why)
        })
    }
}

fn overwrite(mut file: File, text: &[u8]) -> io::Result<()> {
    // Only a regular file has an end.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        ReportFile::check(&path("new")).expect("a file");
        fs::write(path("old"), "text").expect("a file");
        ReportFile::check(&path("old")).expect("a file");
        std::os::unix::fs::symlink(path("target"), path("link")).expect("a link");
        ReportFile::check(&path("link")).expect("a file");
        assert!(!path("new").exists() && !path("target").exists());
        assert!(path("link").is_symlink());
        assert_eq!(fs::read_to_string(path("old")).expect("a file"), "text");
        for bad in [folder.path().to_owned(), path("none/report.html")] {
            let failure = ReportFile::check(&bad).err().expect("refused");
            assert_eq!(failure.exit, Exit::USAGE);
        }
    }
}
