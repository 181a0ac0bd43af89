//! The check of exclusion (C1).

use super::{facts::Facts, latest::Latest, verdict::Verdict, violation::Violation};

/// The grants that start while another one is held that excludes them (K1).
///
/// One violation for each such grant, with the conflicting grant that ends last. Takes O(n log n).
#[must_use]
pub fn exclusion(facts: &Facts) -> Verdict {
    let mut violations = Vec::new();
    let mut cases = 0;
    for attempts in facts.names.values() {
        let mut held = Latest::default();
        // In order of their start.
        for second in attempts.grants.iter().filter(|grant| grant.is_held()) {
            cases += 1;
            let conflicting = held.conflicting(second);
            if let Some(first) = conflicting.filter(|first| second.from < first.to()) {
                let (first, second) = (first.clone(), second.clone());
                violations.push(Violation::Overlap { first, second });
            }
            held.add(second);
        }
    }
    Verdict::of(cases, violations)
}
