//! The files of the runs.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;

use crate::failure::{Failure, Result};

/// Reads the data of a run.
///
/// # Errors
///
/// When there is no such file, or it has other data.
pub(super) fn read<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let failed = |why: String| Failure::new(format!("cannot read {}: {why}", file.display()));
    let text = fs::read(file).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}
