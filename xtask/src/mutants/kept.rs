//! Files that keep the state of runs, so that one can be resumed.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::failure::{Failure, Result};

/// A value with the JSON file that keeps it.
#[derive(Debug)]
pub(super) struct Kept<T> {
    path: PathBuf,
    pub(super) value: T,
}

impl<T: Default + DeserializeOwned + Serialize> Kept<T> {
    /// The value of the file; the default, if there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is of another version.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let unreadable = |why: &dyn ToString| failed("read", path, &why.to_string());
        let value = match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| unreadable(&error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => T::default(),
            Err(error) => return Err(unreadable(&error)),
        };
        let path = path.to_owned();
        Ok(Self { path, value })
    }

    /// Replaces the file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn save(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.value)
            .map_err(|error| failed("keep", &self.path, &error.to_string()))?;
        fs::write(&self.path, text + "\n")
            .map_err(|error| failed("write", &self.path, &error.to_string()))
    }
}

fn failed(what: &str, path: &Path, why: &str) -> Failure {
    Failure::new(format!("cannot {what} {}: {why}", path.display()))
}
