//! The verdicts of the checks.

use std::fmt;

use super::{kind::Check, violation::Violation};

/// The outcome of a check, with the number of cases that it has examined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// No case violates the contract. Zero cases where the store does not promise it.
    Holds {
        /// The cases.
        cases: usize,
    },
    /// Some case violates the contract.
    Violated {
        /// The cases.
        cases: usize,
        /// The violations.
        violations: Vec<Violation>,
    },
    /// The history does not show it.
    Unknown {
        /// The cases.
        cases: usize,
        /// Why it does not.
        reason: String,
    },
}

/// The verdicts of all checks of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of grants.
    pub grants: usize,
    /// The verdict of each check.
    pub verdicts: Vec<(Check, Verdict)>,
}

impl Verdict {
    /// Violated if there are violations, else holds.
    pub(super) fn of(cases: usize, violations: Vec<Violation>) -> Self {
        if violations.is_empty() {
            Self::Holds { cases }
        } else {
            Self::Violated { cases, violations }
        }
    }

    pub(super) fn unknown(cases: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Unknown { cases, reason }
    }

    /// The number of cases that the check has examined.
    #[must_use]
    pub const fn cases(&self) -> usize {
        match self {
            Self::Holds { cases } | Self::Violated { cases, .. } | Self::Unknown { cases, .. } => {
                *cases
            }
        }
    }

    /// The violations; none unless it is violated.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Violated { violations, .. } => violations,
            _ => &[],
        }
    }
}

impl Report {
    /// The verdict of `check`.
    #[must_use]
    pub fn verdict(&self, check: Check) -> Option<&Verdict> {
        let found = self.verdicts.iter().find(|(other, _)| *other == check);
        found.map(|(_, verdict)| verdict)
    }

    /// All violations.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        self.verdicts
            .iter()
            .flat_map(|(_, verdict)| verdict.violations())
    }
}

impl fmt::Display for Report {
    /// One line for each check.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (check, verdict) in &self.verdicts {
            let cases = verdict.cases();
            match verdict {
                Verdict::Holds { .. } => writeln!(f, "{check}: holds in {cases} cases")?,
                Verdict::Violated { violations, .. } => {
                    let count = violations.len();
                    writeln!(f, "{check}: violated {count} times in {cases} cases")?;
                }
                Verdict::Unknown { reason, .. } => {
                    writeln!(f, "{check}: unknown in {cases} cases: {reason}")?;
                }
            }
        }
        Ok(())
    }
}
