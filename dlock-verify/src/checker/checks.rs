//! The three checks of a history: exclusion (C1), token order (C2), fenced register (C3).

use std::collections::{BTreeMap, HashMap};

use super::{grant::Grant, parse::grants, violation::Violation};
use crate::history::{Access, Event};

/// Everything that is wrong with a run: C1 and C2 for `events`, C3 for `accesses`.
#[must_use]
pub fn check(events: &[Event], accesses: &[Access]) -> Vec<Violation> {
    let (grants, mut violations) = grants(events);
    violations.extend(exclusion(&grants));
    violations.extend(tokens(&grants));
    violations.extend(register(accesses));
    violations
}

/// The pairs of grants of one name that are held at the same time, although one is exclusive (K1).
#[must_use]
pub fn exclusion(grants: &BTreeMap<String, Vec<Grant>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for grants in grants.values() {
        for (index, first) in grants.iter().enumerate() {
            // Grants are in order of their start: later ones cannot overlap with `first`.
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

/// The pairs of grants of one name whose tokens are not in the order of the grants (K5).
///
/// A grant precedes another one if it had returned before the other was requested. Of two that exclude each other,
/// it also precedes if its interval ended before the other's started. A waiter is granted after the end of what it
/// waited for.
#[must_use]
pub fn tokens(grants: &BTreeMap<String, Vec<Grant>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for grants in grants.values() {
        for (index, first) in grants.iter().enumerate() {
            for second in &grants[index + 1..] {
                let excluded = !(first.shared && second.shared) && first.to <= second.from;
                let ordered = first.from < second.requested || excluded;
                let repeated = first.token == second.token;
                if repeated || ordered && first.token > second.token {
                    let (first, second) = (first.clone(), second.clone());
                    violations.push(Violation::Tokens { first, second });
                }
            }
        }
    }
    violations
}

/// The accesses that a fenced register must not have accepted, and the updates that it lost.
///
/// Every client writes what it read plus one. So each accepted write is one more than the one before
/// it, and the last value is the number of accepted writes.
#[must_use]
pub fn register(accesses: &[Access]) -> Vec<Violation> {
    let mut cells: HashMap<&str, (u64, u64)> = HashMap::new();
    let mut violations = Vec::new();
    for access in accesses.iter().filter(|access| access.accepted) {
        let (token_max, value) = cells.entry(&access.name).or_default();
        if access.token < *token_max {
            let token_max = *token_max;
            violations.push(Violation::StaleAccess {
                access: access.clone(),
                token_max,
            });
        }
        *token_max = access.token.max(*token_max);
        let Some(wrote) = access.wrote else { continue };
        if wrote != *value + 1 {
            let value = *value;
            violations.push(Violation::LostUpdate {
                access: access.clone(),
                value,
            });
        }
        *value = wrote;
    }
    violations
}
