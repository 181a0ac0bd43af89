//! The results of all runs so far, kept in a file so that a run can be resumed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{
    column::Column,
    definition::{Killer, Mutant},
    folder::Folder,
};
use crate::failure::{Failure, Result};

/// The result of a mutant in one column.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Killed {
        /// The test that reported it.
        by: String,
        /// How many tests had ended by then.
        tests: usize,
        seconds: u64,
    },
    Alive {
        tests: usize,
        seconds: u64,
    },
    /// The column does not run the code that is changed.
    Unreached,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Kept {
    /// Per mutant its definition: another one is measured again.
    mutants: BTreeMap<String, Entry>,
    /// Tests that passed on the copy without a mutant, as it is now.
    passed: BTreeSet<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    definition: String,
    columns: BTreeMap<Column, Outcome>,
}

#[derive(Debug)]
pub(super) struct Results {
    path: PathBuf,
    kept: Kept,
}

impl Results {
    /// The results of earlier runs, or none if there are none or they are not wanted.
    ///
    /// # Errors
    ///
    /// When the file is of another version.
    pub(super) fn load(folder: &Folder, again: bool) -> Result<Self> {
        let path = folder.results();
        let kept = match fs::read(&path) {
            Ok(text) if !again => serde_json::from_slice(&text).map_err(|error| {
                Failure::new(format!(
                    "cannot read {}: {error}; --again forgets it",
                    path.display()
                ))
            })?,
            _ => Kept::default(),
        };
        Ok(Self { path, kept })
    }

    pub(super) fn get(&self, mutant: &Mutant, column: Column) -> Option<&Outcome> {
        let entry = self.kept.mutants.get(&mutant.name)?;
        let is_same = entry.definition == definition(mutant);
        is_same.then(|| entry.columns.get(&column)).flatten()
    }

    /// Keeps the result of a column.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn set(&mut self, mutant: &Mutant, column: Column, outcome: Outcome) -> Result<()> {
        let definition = definition(mutant);
        let entry = self
            .kept
            .mutants
            .entry(mutant.name.clone())
            .or_insert_with(|| Entry::new(&definition));
        if entry.definition != definition {
            *entry = Entry::new(&definition);
        }
        entry.columns.insert(column, outcome);
        self.save()
    }

    /// Whether a column has killed it.
    pub(super) fn is_dead(&self, mutant: &Mutant) -> bool {
        self.any(mutant, |outcome| matches!(outcome, Outcome::Killed { .. }))
    }

    /// Whether it was measured, and nothing killed it.
    pub(super) fn is_alive(&self, mutant: &Mutant) -> bool {
        let alive = |outcome: &Outcome| matches!(outcome, Outcome::Alive { .. });
        self.any(mutant, alive) && !self.is_dead(mutant)
    }

    fn any(&self, mutant: &Mutant, is: impl Fn(&Outcome) -> bool) -> bool {
        let mut outcomes = Column::ALL
            .into_iter()
            .filter_map(|column| self.get(mutant, column));
        outcomes.any(is)
    }

    /// How long all results took together, in seconds.
    pub(super) fn seconds(&self) -> u64 {
        let entries = self.kept.mutants.values();
        let outcomes = entries.flat_map(|entry| entry.columns.values());
        outcomes
            .map(|outcome| match outcome {
                Outcome::Killed { seconds, .. } | Outcome::Alive { seconds, .. } => *seconds,
                Outcome::Unreached => 0,
            })
            .sum()
    }

    pub(super) fn has_passed(&self, killer: &Killer) -> bool {
        self.kept.passed.contains(&key(killer))
    }

    /// Keeps that `killer` passes without a mutant.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn set_passed(&mut self, killer: &Killer) -> Result<()> {
        self.kept.passed.insert(key(killer));
        self.save()
    }

    /// Forgets which tests pass: the project has changed.
    pub(super) fn forget_passed(&mut self) {
        self.kept.passed.clear();
    }

    fn save(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&self.kept)
            .map_err(|error| Failure::new(format!("cannot keep the results: {error}")))?;
        fs::write(&self.path, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", self.path.display())))
    }
}

impl Entry {
    fn new(definition: &str) -> Self {
        Self {
            definition: definition.to_owned(),
            columns: BTreeMap::new(),
        }
    }
}

/// The change that is made: the words about it may change.
fn definition(mutant: &Mutant) -> String {
    let Mutant {
        file,
        text,
        replacement,
        ..
    } = mutant;
    format!("{}\n{text}\n{replacement}", file.display())
}

fn key(killer: &Killer) -> String {
    let Killer {
        package,
        program,
        test,
    } = killer;
    format!("{package} {program} {test}")
}
