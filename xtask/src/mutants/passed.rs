//! Tests that passed on the copy without a mutant, as it is now.

use std::{collections::BTreeSet, path::Path};

use super::{definition::Killer, kept::Kept};
use crate::failure::Result;

#[derive(Debug)]
pub(super) struct Passed(Kept<BTreeSet<Killer>>);

impl Passed {
    /// The tests of earlier runs.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(super) fn load(path: &Path) -> Result<Self> {
        Kept::load(path).map(Self)
    }

    pub(super) fn has(&self, killer: &Killer) -> bool {
        self.0.value.contains(killer)
    }

    /// Keeps that `killer` passes.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn insert(&mut self, killer: &Killer) -> Result<()> {
        self.0.value.insert(killer.clone());
        self.0.save()
    }

    /// Forgets all: the project has changed.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.0.value.clear();
        self.0.save()
    }
}
