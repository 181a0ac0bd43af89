//! The clauses that the history of a case violates: they need not be the clause of the case.

use std::{collections::BTreeSet, sync::Arc};

use dlock_core::toolkit::Lock;
use dlock_verify::{
    checker::{Check, Violation},
    verdict::Clause,
};

/// The clauses that a check found violated; each clone has the same.
#[derive(Clone, Default)]
pub(crate) struct Violated(Arc<Lock<Vec<Clause>>>);

impl Violated {
    /// Notes the clauses of `violations`.
    pub(super) fn note(&self, violations: &[&Violation]) {
        let checks = violations.iter().map(|violation| violation.check());
        *self.0.lock() = clauses(checks);
    }

    pub(crate) fn clauses(&self) -> Vec<Clause> {
        self.0.lock().clone()
    }
}

/// The clauses of these checks; none if the recording itself is wrong, which proves nothing of any clause.
fn clauses(checks: impl Iterator<Item = Check>) -> Vec<Clause> {
    let clauses = checks.map(|check| check.clause()?.parse().ok());
    let clauses: Option<BTreeSet<Clause>> = clauses.collect();
    Vec::from_iter(clauses.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_of_its_own_clause() {
        let of = |checks: &[Check]| clauses(checks.iter().copied());
        assert_eq!(of(&[Check::Liveness, Check::Contention]), [Clause::K6]);
        let both = of(&[Check::Liveness, Check::Exclusion, Check::Liveness]);
        assert_eq!(both, [Clause::K1, Clause::K6]);
        assert_eq!(of(&[Check::Liveness, Check::History]), []);
    }
}
