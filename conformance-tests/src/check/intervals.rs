//! C1: interval exclusion.

use std::collections::BTreeMap;

use super::{Grant, Violation};

/// The pairs of grants of one name that are held at the same time, although one is exclusive (K1).
#[must_use]
pub fn exclusion(grants: &BTreeMap<String, Vec<Grant>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for grants in grants.values() {
        for (index, first) in grants.iter().enumerate() {
            // In order of their start: those that start after the end of `first` need no look.
            let rest = grants[index + 1..]
                .iter()
                .take_while(|second| second.from < first.to);
            for second in rest.filter(|second| second.from < second.to) {
                if !(first.shared && second.shared) {
                    let (first, second) = (first.clone(), second.clone());
                    violations.push(Violation::Overlap { first, second });
                }
            }
        }
    }
    violations
}
