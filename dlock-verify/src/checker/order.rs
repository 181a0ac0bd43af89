//! The check of token order (C2).

use super::{attempt::Grant, facts::Facts, latest::Latest, verdict::Verdict, violation::Violation};

/// The grants whose tokens are not in the order of the grants, or come twice (K5).
///
/// A grant precedes another one if it had returned before the other was requested. Of two that exclude each
/// other, it also precedes if its interval ended before the other's started: a waiter is granted after the
/// end of what it waited for.
///
/// One violation for each grant that does not fit, with one that shows it. Takes O(n log n). A grant that was
/// over when it returned held nothing, so its token needs no order.
#[must_use]
pub fn tokens(facts: &Facts) -> Verdict {
    let mut violations = Vec::new();
    for attempts in facts.names.values() {
        let mut by_token: Vec<&Grant> = attempts.grants.iter().collect();
        by_token.sort_by_key(|grant| grant.token);
        violations.extend(repeated(&by_token));
        by_token.retain(|grant| grant.is_held());
        violations.extend(misplaced(&by_token));
    }
    Verdict::of(facts.grant_count(), violations)
}

fn repeated<'a>(by_token: &'a [&Grant]) -> impl Iterator<Item = Violation> + 'a {
    let pairs = by_token.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|(one, other)| one.token == other.token)
        .map(|(one, other)| violation(one, other))
}

/// The grants without a place after those with smaller tokens.
fn misplaced(by_token: &[&Grant]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut requested: Option<&Grant> = None;
    let mut held = Latest::default();
    for grant in by_token {
        let requested_later = requested.filter(|other| other.requested > grant.from);
        let held_later = held
            .conflicting(grant)
            .filter(|other| other.to() > grant.from);
        let Some(other) = requested_later.or(held_later) else {
            if requested.is_none_or(|requested| requested.requested < grant.requested) {
                requested = Some(grant);
            }
            held.add(grant);
            continue;
        };
        // Otherwise the violation is one of exclusion, and their tokens may be right.
        if other.token < grant.token && !grant.overlaps(other) {
            violations.push(violation(grant, other));
        }
    }
    violations
}

/// The violation by two grants, the earlier one first.
fn violation(one: &Grant, other: &Grant) -> Violation {
    let (first, second) = if one.from <= other.from {
        (one, other)
    } else {
        (other, one)
    };
    Violation::Tokens {
        first: first.clone(),
        second: second.clone(),
    }
}
