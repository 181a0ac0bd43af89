//! The packages of the workspace, as cargo describes them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) manifest_path: PathBuf,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
    /// Registries that it may go to; none for a package that is never published.
    #[serde(default)]
    pub(crate) publish: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) repository: Option<String>,
    #[serde(default)]
    pub(crate) readme: Option<PathBuf>,
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
}

/// A library, a program, a test or another crate of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Package {
    /// The folder of its `Cargo.toml`.
    pub(crate) fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Whether it may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish
            .as_ref()
            .is_none_or(|registries| !registries.is_empty())
    }
}

impl Metadata {
    /// Runs `cargo metadata`; dependencies are left out.
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
