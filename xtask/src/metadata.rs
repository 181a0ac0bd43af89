//! What cargo knows about the workspace.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;

use crate::{
    command::Tool,
    failure::{Failure, Result},
};

/// The part of `cargo metadata` that xtask reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) workspace_root: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

impl Metadata {
    /// Asks cargo; dependencies are left out.
    ///
    /// # Errors
    ///
    /// When the workspace does not load.
    pub(crate) fn read() -> Result<Self> {
        let json = Tool::cargo("metadata --no-deps --format-version 1").read()?;
        serde_json::from_slice(&json).map_err(|error| {
            Failure::new(format!("cannot read the answer of cargo metadata: {error}"))
        })
    }
}
