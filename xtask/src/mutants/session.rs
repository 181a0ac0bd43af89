//! A run over many mutants.

use super::{
    column::Column,
    definition::{Killer, Mutant},
    folder::Folder,
    judge::Judge,
    passed::Passed,
    program,
    results::{Outcome, Results},
};
use crate::{
    failure::{Failure, Result},
    metadata::Metadata,
    step::{complain, say},
};

/// The mutants are measured one at a time: they share the copy.
#[derive(Debug)]
pub(super) struct Session<'a> {
    judge: Judge<'a>,
    passed: Passed,
    results: &'a mut Results,
}

impl<'a> Session<'a> {
    /// Makes the copy equal to the project.
    ///
    /// # Errors
    ///
    /// When it cannot be copied.
    pub(super) fn start(
        metadata: &'a Metadata,
        folder: Folder,
        only_expected: bool,
        results: &'a mut Results,
    ) -> Result<Self> {
        let mut passed = Passed::load(&folder.passed())?;
        if folder.refresh()? {
            passed.clear()?;
        }
        let judge = Judge {
            metadata,
            folder,
            only_expected,
        };
        Ok(Self {
            judge,
            passed,
            results,
        })
    }

    /// Measures `mutants` in `columns`; a dead one only in the first, unless `all`. Goes on after a mutant that
    /// could not be measured.
    ///
    /// # Errors
    ///
    /// When a mutant could not be measured: the names of all such.
    pub(super) fn measure(
        &mut self,
        mutants: &[&Mutant],
        columns: &[Column],
        all: bool,
    ) -> Result<()> {
        let mut work = self.unmeasured(mutants, columns, all);
        let mut failed = self.fail_without_mutants(&mut work);
        for (mutant, column) in work {
            if self.results.is_dead(mutant) && !all {
                continue;
            }
            if let Err(failure) = self.measure_one(mutant, column) {
                complain(&format!("failed  {failure}"));
                failed.push(mutant.name.as_str());
            }
        }
        failed.dedup();
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!("not measured: {}", failed.join(", "))))
    }

    /// The mutants without a result. Those of one crate are together: what is built for one is used for the next.
    fn unmeasured<'m>(
        &self,
        mutants: &[&'m Mutant],
        columns: &[Column],
        all: bool,
    ) -> Vec<(&'m Mutant, Column)> {
        let mut mutants = mutants.to_vec();
        mutants.retain(|mutant| all || !self.results.is_dead(mutant));
        mutants.sort_by_key(|mutant| (mutant.crate_folder().to_owned(), mutant.killer.clone()));
        let work = mutants
            .into_iter()
            .flat_map(|mutant| columns.iter().map(move |column| (mutant, *column)));
        work.filter(|(mutant, column)| self.results.get(mutant, *column).is_none())
            .collect()
    }

    /// Runs the first tests of each mutant without a mutant. Removes the work whose tests fail, and returns the names.
    fn fail_without_mutants<'m>(&mut self, work: &mut Vec<(&'m Mutant, Column)>) -> Vec<&'m str> {
        let mut failed = Vec::new();
        let mut kept = Vec::new();
        for (mutant, column) in work.drain(..) {
            let first = program::programs(self.judge.metadata, mutant, column);
            match first.first().map_or(Ok(()), |first| self.must_pass(first)) {
                Ok(()) => kept.push((mutant, column)),
                Err(failure) => {
                    complain(&format!("failed  {}: {failure}", mutant.name));
                    failed.push(mutant.name.as_str());
                }
            }
        }
        *work = kept;
        failed
    }

    fn must_pass(&mut self, killer: &Killer) -> Result<()> {
        if self.passed.has(killer) {
            return Ok(());
        }
        self.judge.must_pass(killer)?;
        self.passed.insert(killer)
    }

    fn measure_one(&mut self, mutant: &Mutant, column: Column) -> Result<()> {
        let outcome = self.judge.judge(mutant, column)?;
        say(&line(mutant, column, &outcome));
        self.results.set(mutant, column, outcome)
    }
}

fn line(mutant: &Mutant, column: Column, outcome: &Outcome) -> String {
    let found = match outcome {
        Outcome::Killed { by, tests, seconds } => {
            format!("killed by {by} after {tests} tests, {seconds} s")
        }
        Outcome::Alive { tests, seconds } => format!("ALIVE after {tests} tests, {seconds} s"),
        Outcome::Unreached => "not reached".to_owned(),
    };
    format!("{:<44} {column:?}: {found}", mutant.name)
}
