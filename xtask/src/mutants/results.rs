//! The results of all runs. Their file belongs to the project, so that any machine can go on.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    column::Column,
    definition::{FOLDER, Mutant},
    kept::Kept,
};
use crate::failure::Result;

/// The file of the results, beside the mutants.
const FILE: &str = "results.json";

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

#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    /// The change that was made: another one is measured again.
    definition: String,
    columns: BTreeMap<Column, Outcome>,
}

/// The results by the names of the mutants.
#[derive(Debug)]
pub(super) struct Results(Kept<BTreeMap<String, Entry>>);

impl Results {
    /// The results of earlier runs for `mutants`, as they are now.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(super) fn load(root: &Path, mutants: &[Mutant]) -> Result<Self> {
        let mut kept: Kept<BTreeMap<String, Entry>> = Kept::load(&root.join(FOLDER).join(FILE))?;
        kept.value.retain(|name, entry| {
            let mutant = mutants.iter().find(|mutant| mutant.name == *name);
            mutant.is_some_and(|mutant| definition(mutant) == entry.definition)
        });
        Ok(Self(kept))
    }

    /// Forgets what is known about `mutants`; in the file with the next result.
    pub(super) fn forget(&mut self, mutants: &[&Mutant]) {
        for mutant in mutants {
            self.0.value.remove(&mutant.name);
        }
    }

    pub(super) fn get(&self, mutant: &Mutant, column: Column) -> Option<&Outcome> {
        self.0.value.get(&mutant.name)?.columns.get(&column)
    }

    /// Keeps the result of a column.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn set(&mut self, mutant: &Mutant, column: Column, outcome: Outcome) -> Result<()> {
        let name = mutant.name.clone();
        let entry = self.0.value.entry(name).or_insert_with(|| Entry {
            definition: definition(mutant),
            columns: BTreeMap::new(),
        });
        entry.columns.insert(column, outcome);
        self.0.save()
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
        let entries = self.0.value.values();
        let outcomes = entries.flat_map(|entry| entry.columns.values());
        outcomes
            .map(|outcome| match outcome {
                Outcome::Killed { seconds, .. } | Outcome::Alive { seconds, .. } => *seconds,
                Outcome::Unreached => 0,
            })
            .sum()
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::mutants::definition::tests::mutant;

    fn killed() -> Outcome {
        Outcome::Killed {
            by: "k04".to_owned(),
            tests: 3,
            seconds: 9,
        }
    }

    /// A project with the result of one mutant.
    fn project() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(FOLDER)).unwrap();
        let mut results = Results::load(root.path(), &[mutant()]).unwrap();
        results.set(&mutant(), Column::Suite, killed()).unwrap();
        root
    }

    #[test]
    fn the_next_run_knows_the_results() {
        let root = project();
        let results = Results::load(root.path(), &[mutant()]).unwrap();
        assert_eq!(results.get(&mutant(), Column::Suite), Some(&killed()));
        assert_eq!(results.get(&mutant(), Column::Chaos), None);
        assert!(results.is_dead(&mutant()));
        assert_eq!(results.seconds(), 9);
    }

    #[test]
    fn another_change_of_the_same_name_has_no_result() {
        let root = project();
        let other = Mutant {
            replacement: "!= any".to_owned(),
            ..mutant()
        };
        let results = Results::load(root.path(), &[other]).unwrap();
        assert_eq!(results.seconds(), 0);
        let other = Mutant {
            why: "Other words.".to_owned(),
            ..mutant()
        };
        let results = Results::load(root.path(), &[other]).unwrap();
        assert_eq!(results.seconds(), 9);
    }

    #[test]
    fn a_mutant_that_is_gone_or_forgotten_has_no_result() {
        let root = project();
        assert_eq!(Results::load(root.path(), &[]).unwrap().seconds(), 0);
        let mut results = Results::load(root.path(), &[mutant()]).unwrap();
        results.forget(&[&mutant()]);
        assert!(!results.is_dead(&mutant()));
    }

    #[test]
    fn a_file_of_another_version_is_an_error() {
        let root = project();
        fs::write(root.path().join(FOLDER).join(FILE), "[1]").unwrap();
        assert!(Results::load(root.path(), &[mutant()]).is_err());
    }
}
