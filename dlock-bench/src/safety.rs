//! The sum of the verdicts about a store.

use dlock_verify::verdict::{Clause, ClauseVerdict, Finding, Severity, StoreVerdict, Verdict};

/// The safety of a store in a word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Safety {
    /// A clause fails, or a setting is a danger: what, in words.
    Danger(String),
    /// Declared exceptions apply to this server; so many clauses or settings are open beside them.
    Warnings(usize, usize),
    /// Clauses or settings are open.
    Unknown(usize),
    /// All clauses hold.
    Holds,
    /// The store was not verified, or not reached.
    NotVerified,
}

impl Safety {
    /// The safety of a store with this verdict.
    pub(crate) fn of(verdict: Option<&StoreVerdict>) -> Self {
        let Some(verdict) = verdict.filter(|verdict| verdict.error.is_none()) else {
            return Self::NotVerified;
        };
        let failed: Vec<&str> = clauses(verdict, Verdict::Fails)
            .map(|clause| clause.id.id())
            .collect();
        let dangers = findings(verdict, Severity::Danger).count();
        match (failed.as_slice(), dangers, verdict.residue.left.len()) {
            ([], 0, 0) => {}
            ([], 0, 1) => return Self::Danger("1 entry left".to_owned()),
            ([], 0, left) => return Self::Danger(format!("{left} entries left")),
            ([], 1, _) => return Self::Danger("1 danger".to_owned()),
            ([], dangers, _) => return Self::Danger(format!("{dangers} dangers")),
            (failed, ..) => return Self::Danger(format!("{} fails", failed.join(", "))),
        }
        let warnings = findings(verdict, Severity::Warning).count();
        let is_open = |clause: &&ClauseVerdict| match clause.verdict {
            Verdict::Unknown => true,
            // Locks of which exclusion is not known are not known.
            Verdict::NotTried => clause.id == Clause::K1,
            _ => false,
        };
        let open = verdict.clauses.iter().filter(is_open);
        let open = open.filter(|clause| !clause.accepted).count()
            + findings(verdict, Severity::Unknown).count();
        match (warnings, open) {
            (0, 0) => Self::Holds,
            (0, open) => Self::Unknown(open),
            (warnings, open) => Self::Warnings(warnings, open),
        }
    }

    pub(crate) fn is_clean(&self) -> bool {
        *self == Self::Holds
    }

    /// The sign and the words.
    pub(crate) fn shown(&self) -> (&'static str, String) {
        match self {
            Self::Danger(what) => ("✕", what.clone()),
            Self::Warnings(number, open) => {
                let ending = if *number == 1 { "" } else { "s" };
                let open = match open {
                    0 => String::new(),
                    open => format!(", ? {open} unknown"),
                };
                ("▲", format!("{number} warning{ending}{open}"))
            }
            Self::Unknown(number) => ("?", format!("{number} unknown")),
            Self::Holds => ("✓", "all hold".to_owned()),
            Self::NotVerified => ("?", "not verified".to_owned()),
        }
    }
}

/// The clauses of a store with this verdict.
pub(crate) fn clauses(
    verdict: &StoreVerdict,
    which: Verdict,
) -> impl Iterator<Item = &ClauseVerdict> {
    let all = verdict.clauses.iter();
    all.filter(move |clause| clause.verdict == which)
}

/// The findings of a severity that the user has not accepted.
pub(crate) fn findings(
    verdict: &StoreVerdict,
    severity: Severity,
) -> impl Iterator<Item = &Finding> {
    let all = verdict.findings.iter();
    all.filter(move |finding| finding.severity == severity && !finding.accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safety(clause: Clause, verdict: Verdict) -> Safety {
        let mut store = StoreVerdict::new("redis://db-1");
        let mut tried = ClauseVerdict::unknown(clause, "");
        tried.verdict = verdict;
        store.clauses.push(tried);
        Safety::of(Some(&store))
    }

    #[test]
    fn exclusion_that_was_not_tried_is_not_known() {
        assert_eq!(safety(Clause::K1, Verdict::Holds), Safety::Holds);
        assert_eq!(safety(Clause::K1, Verdict::NotTried), Safety::Unknown(1));
        assert_eq!(safety(Clause::K6, Verdict::NotTried), Safety::Holds);
    }
}
