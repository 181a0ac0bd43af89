//! The file that keeps the last run of each store.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{data::StoreRun, failure::Failure};

/// Puts `run` in the place of the store's earlier one with the same delay.
///
/// # Errors
///
/// When the file has other data, or cannot be written.
pub(crate) fn put(file: &Path, run: &StoreRun) -> Result<(), Failure> {
    let failed = |why: String| format!("{}: {why}", file.display());
    let mut stores: Vec<Value> = match fs::read(file) {
        Ok(text) => {
            let mut data: Value =
                serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
            let stores = data["stores"].take();
            serde_json::from_value(stores).map_err(|error| failed(error.to_string()))?
        }
        Err(_) => Vec::new(),
    };
    let new = serde_json::to_value(run)?;
    let key = |run: &Value| {
        let delay = run["delay_ms"].as_f64().unwrap_or(0.0);
        (run["store"].clone(), delay)
    };
    match stores.iter_mut().find(|old| key(old) == key(&new)) {
        Some(old) => *old = new,
        None => stores.push(new),
    }
    let text = serde_json::to_string_pretty(&json!({ "stores": stores }))?;
    fs::write(file, text + "\n").map_err(|error| failed(error.to_string()))?;
    Ok(())
}
