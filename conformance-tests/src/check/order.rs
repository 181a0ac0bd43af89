//! C2: token order.

use std::collections::BTreeMap;

use super::{Grant, Violation};

/// The pairs of grants of one name whose tokens are not in the order of the grants (K5).
///
/// A grant surely came before another one when it had returned before the other was asked for; and,
/// of two that exclude each other, when its interval ended before the other's started: a waiter is
/// granted after the end of what it waited for.
#[must_use]
pub fn tokens(grants: &BTreeMap<String, Vec<Grant>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for grants in grants.values() {
        for (index, first) in grants.iter().enumerate() {
            for second in &grants[index + 1..] {
                let excluded = !(first.shared && second.shared) && first.to <= second.from;
                let ordered = first.from < second.asked || excluded;
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
