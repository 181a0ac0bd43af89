//! One mutant in one column.

use std::{path::Path, time::Duration};

use super::{
    build::build,
    column::Column,
    definition::{Killer, Mutant},
    folder::Folder,
    program,
    results::Outcome,
    run::{Filter, Run, Verdict, run},
};
use crate::{
    failure::{Failure, Result},
    metadata::Metadata,
    step::say,
};

/// A mutant that has not been killed within this time in a column is alive.
const COLUMN_MAX: Duration = Duration::from_secs(1_800);

/// How much of the report of a failure is printed.
const REPORT_LINES_MAX: usize = 20;

/// The copy, and the packages in it.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) metadata: &'a Metadata,
    pub(super) folder: Folder,
    /// Whether only the first tests of a column are run.
    pub(super) only_expected: bool,
}

impl Judge<'_> {
    /// Makes the mutant, and runs the tests of `column` until one reports it.
    ///
    /// # Errors
    ///
    /// When the mutant does not compile, a test cannot be started, or only the first tests were run and pass.
    pub(super) fn judge(&self, mutant: &Mutant, column: Column) -> Result<Outcome> {
        let mut programs = program::programs(self.metadata, mutant, column);
        if self.only_expected {
            programs.truncate(1);
        }
        if programs.is_empty() {
            return Ok(Outcome::Unreached);
        }
        self.folder.apply(mutant)?;
        let judged = self.judge_made(&programs);
        self.folder.restore(mutant)?;
        let judged = judged.and_then(|(outcome, unchecked)| {
            let without = unchecked.map_or(Ok(()), |(killer, verdict)| {
                self.without_mutant(killer, &verdict)
            });
            without.map(|()| outcome)
        });
        judged.map_err(|failure| Failure::new(format!("{}: {failure}", mutant.name)))
    }

    /// Runs the tests of the mutant that is made. Returns the tests that are not known to pass without it, too.
    fn judge_made<'k>(
        &self,
        programs: &'k [Killer],
    ) -> Result<(Outcome, Option<(&'k Killer, Verdict)>)> {
        let (mut tests, mut took) = (0, Duration::ZERO);
        for (place, killer) in programs.iter().enumerate() {
            let is_first = place == 0;
            let run = self.run_mutated(killer)?;
            tests += run.tests;
            took += run.took;
            let seconds = took.as_secs();
            if let Some(by) = reported_by(&run.verdict) {
                let unchecked = (!is_first).then_some((killer, run.verdict));
                return Ok((Outcome::Killed { by, tests, seconds }, unchecked));
            }
            if took > COLUMN_MAX {
                break;
            }
        }
        if self.only_expected {
            return Err(Failure::new("its expected test passes"));
        }
        let seconds = took.as_secs();
        Ok((Outcome::Alive { tests, seconds }, None))
    }

    /// Whether the tests of `killer` run, and pass, without a mutant.
    ///
    /// # Errors
    ///
    /// When they do not: they would kill every mutant.
    pub(super) fn must_pass(&self, killer: &Killer) -> Result<()> {
        let run = self.build_and_run(killer, filter_of(killer))?;
        let has_tests = run.tests > 0 || killer.program == program::CHAOS;
        if run.verdict == Verdict::Passed && has_tests {
            return Ok(());
        }
        let Killer {
            package,
            program,
            test,
        } = killer;
        Err(Failure::new(format!(
            "{package}, {program}, {test:?}: {} tests, {:?} without a mutant (allowed: Passed)",
            run.tests, run.verdict
        )))
    }

    /// Runs the tests of `killer` on a mutant. A failure must come twice, and its reason is printed.
    fn run_mutated(&self, killer: &Killer) -> Result<Run> {
        let run = self.build_and_run(killer, filter_of(killer))?;
        if let Verdict::Failed(name) = &run.verdict {
            let again = self.build_and_run(killer, Filter::Exactly(name))?;
            if again.verdict == Verdict::Passed {
                return Err(unsteady(name));
            }
            let reports = again.reports.iter().take(REPORT_LINES_MAX);
            reports.for_each(|line| say(&format!("    {line}")));
        }
        Ok(run)
    }

    /// Checks that what reported the mutant is quiet without it.
    fn without_mutant(&self, killer: &Killer, verdict: &Verdict) -> Result<()> {
        let filter = match verdict {
            Verdict::Failed(name) => Filter::Exactly(name),
            _ => filter_of(killer),
        };
        if self.build_and_run(killer, filter)?.verdict == Verdict::Passed {
            return Ok(());
        }
        Err(unsteady(
            reported_by(verdict).as_deref().unwrap_or_default(),
        ))
    }

    fn build_and_run(&self, killer: &Killer, filter: Filter<'_>) -> Result<Run> {
        let copy = self.folder.copy();
        let program = build(&copy, &self.folder.target(), killer)?;
        let folder: &Path = program::folder_of(self.metadata, &killer.package);
        run(&program, &copy.join(folder), filter)
    }
}

fn filter_of(killer: &Killer) -> Filter<'_> {
    if killer.program == program::CHAOS {
        Filter::Words(&killer.test)
    } else {
        Filter::Part(&killer.test)
    }
}

/// The test that failed; `None` if all passed.
fn reported_by(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Passed => None,
        Verdict::Failed(name) => Some(name.clone()),
        Verdict::Broke => Some("the program breaks".to_owned()),
        Verdict::Hung => Some("the program hangs".to_owned()),
    }
}

/// A test that shows nothing: it fails without a mutant, or passes with it the second time.
fn unsteady(name: &str) -> Failure {
    Failure::new(format!(
        "{name} fails for another reason than the mutant; mend it first"
    ))
}
