//! The check that an attempt without effect has left nothing (C9).

use std::collections::HashMap;

use super::{
    bounds::{Bounds, nanos},
    facts::Facts,
    verdict::Verdict,
    violation::Violation,
};
use crate::history::{Entry, Owner};

/// The entries in a listing of the store that belong to an attempt whose error said that nothing is left (K9).
///
/// A case is such an attempt that ended within a ttl before a listing; later an entry would be gone by itself.
/// Entries belong to the attempt in their note.
#[must_use]
pub fn effect(facts: &Facts, bounds: &Bounds) -> Verdict {
    let (ttl, owned) = (nanos(bounds.ttl), owned(facts));
    let (mut cases, mut violations) = (0, Vec::new());
    let attempts = facts.names.values().flat_map(|name| &name.ungranted);
    for attempt in attempts.filter(|attempt| !attempt.may_leave()) {
        let next = facts
            .listings
            .partition_point(|(at, _)| *at <= attempt.ended);
        let listed = facts.listings.get(next);
        cases += usize::from(listed.is_some_and(|(at, _)| at - attempt.ended < ttl));
        let owner = Owner {
            client: attempt.client,
            op: attempt.op,
        };
        let entries = owned.get(&owner).into_iter().flatten();
        let left = entries.filter(|(at, _)| *at > attempt.ended);
        violations.extend(left.map(|(at, entry)| Violation::Effect {
            at: *at,
            entry: (*entry).clone(),
            attempt: attempt.clone(),
        }));
    }
    if violations.is_empty() && cases == 0 {
        return Verdict::unknown(0, "no listing of the store within a ttl of such an attempt");
    }
    if violations.is_empty() && owned.is_empty() && undocumented(facts).next().is_some() {
        return Verdict::unknown(cases, "the listings do not show whose the entries are");
    }
    Verdict::of(cases, violations)
}

/// The entries of all listings that may not stay for ever, with the time of their listing.
fn undocumented(facts: &Facts) -> impl Iterator<Item = (u64, &Entry)> {
    let entries = facts
        .listings
        .iter()
        .flat_map(|(at, entries)| entries.iter().map(|entry| (*at, entry)));
    entries.filter(|(_, entry)| !entry.documented)
}

/// The undocumented entries, by the attempt in their note.
fn owned(facts: &Facts) -> HashMap<Owner, Vec<(u64, &Entry)>> {
    let mut owned: HashMap<_, Vec<_>> = HashMap::new();
    for (at, entry) in undocumented(facts) {
        if let Some(owner) = entry.owner {
            owned.entry(owner).or_default().push((at, entry));
        }
    }
    owned
}
