//! The check of what is left in the store (C7).

use super::{
    bounds::Bounds,
    facts::{Attempts, Facts},
    presence::Presence,
    verdict::Verdict,
    violation::Violation,
};
use crate::history::{Entry, Name};

/// The entries in a listing of the store that no attempt can have any more (K7, K12).
///
/// An entry may be there while its lock is held or requested, and for `ttl + takeover_max` after an end that was
/// not confirmed. Entries that the store's documentation names may stay. An entry without a name belongs to all
/// locks together.
///
/// A case is a lock that is free in a listing.
#[must_use]
pub fn residue(facts: &Facts, bounds: &Bounds) -> Verdict {
    let presence = Presence::new(facts, bounds);
    let (mut cases, mut violations) = (0, Vec::new());
    for (at, entries) in &facts.listings {
        let is_free = |name: &Name| {
            let attempts = facts.names.get(name);
            attempts.is_some_and(|attempts| free_from(attempts, &presence) < *at)
        };
        let free = facts.names.keys().filter(|name| is_free(name)).count();
        cases += free;
        let is_residue = |entry: &&Entry| {
            !entry.documented
                && match entry.name.is_empty() {
                    true => free == facts.names.len(),
                    false => is_free(&entry.name),
                }
        };
        let left = entries.iter().filter(is_residue).cloned();
        violations.extend(left.map(|entry| Violation::Residue { at: *at, entry }));
    }
    if cases == 0 {
        return Verdict::unknown(0, "no listing of the store when a lock was free");
    }
    Verdict::of(cases, violations)
}

/// From when on the store has no entry of the attempts any more.
fn free_from(attempts: &Attempts, presence: &Presence) -> u64 {
    let grants = attempts
        .grants
        .iter()
        .map(|grant| presence.of_grant(grant).to);
    let ungranted = attempts
        .ungranted
        .iter()
        .map(|attempt| presence.of_ungranted(attempt).to);
    grants.chain(ungranted).max().unwrap_or(0)
}
