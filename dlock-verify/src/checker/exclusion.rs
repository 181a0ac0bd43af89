//! The check of exclusion (C1).

use std::collections::BTreeMap;

use super::{grant::Grant, latest::Latest, violation::Violation};

/// The grants that start while another one is held that excludes them (K1).
///
/// One violation for each such grant, with the conflicting grant that ends last. Takes O(n log n).
#[must_use]
pub fn exclusion(grants: &BTreeMap<String, Vec<Grant>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for grants in grants.values() {
        let mut held = Latest::default();
        // In order of their start.
        for second in grants.iter().filter(|grant| grant.is_held()) {
            let conflicting = held.conflicting(second);
            if let Some(first) = conflicting.filter(|first| second.from < first.to) {
                let (first, second) = (first.clone(), second.clone());
                violations.push(Violation::Overlap { first, second });
            }
            held.add(second);
        }
    }
    violations
}
