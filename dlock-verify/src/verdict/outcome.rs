//! The end of a verification, as the program's exit code shows it.

use super::{
    clause::{Clause, Verdict},
    finding::Severity,
    store::StoreVerdict,
};

/// The end of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Outcome {
    /// All clauses that were tried hold, and there is no danger that the user has not accepted. Exit code 0.
    ///
    /// Warnings are declared exceptions of the contract: they are shown, and change nothing.
    Holds,
    /// A clause has no answer, exclusion (K1) was not tried, a setting is not readable or a store cannot be reached. Exit code 2.
    Unknown,
    /// A clause fails, or there is a danger. Exit code 1.
    Fails,
}

impl Outcome {
    /// The outcome of one store.
    #[must_use]
    pub fn of(store: &StoreVerdict) -> Self {
        let clauses = store.clauses.iter().map(|clause| match clause.verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Fails => Self::Fails,
            _ if clause.accepted => Self::Holds,
            Verdict::Unknown => Self::Unknown,
            // Locks of which exclusion is not known are not known.
            Verdict::NotTried if clause.id == Clause::K1 => Self::Unknown,
            Verdict::NotTried => Self::Holds,
        });
        let findings = store.findings.iter().map(|finding| match finding.severity {
            _ if finding.accepted => Self::Holds,
            Severity::Covered | Severity::Note | Severity::Warning => Self::Holds,
            Severity::Unknown => Self::Unknown,
            Severity::Danger => Self::Fails,
        });
        let error = store.error.iter().map(|_| Self::Unknown);
        let left = store.residue.left.iter().map(|_| Self::Fails);
        let unknown = store.residue.unknown.iter().map(|_| Self::Unknown);
        let all = clauses.chain(findings).chain(error);
        let all = all.chain(left).chain(unknown);
        all.max().unwrap_or(Self::Unknown)
    }
}
