//! The check that a free lock is not refused (C6b).

use super::{
    attempt::{Grant, Ungranted},
    bounds::Bounds,
    facts::{Attempts, Facts, Span},
    presence::Presence,
    verdict::Verdict,
    violation::Violation,
};

/// The tries that were refused as contended although the lock was free (K6).
///
/// The times in which the store may have an entry of an attempt form groups that touch each other. A refusal
/// needs an attempt in its group that was not refused, or may have left something: another one that was refused
/// cannot have had the lock. If [tries collide](Bounds::tries_collide), any other attempt is enough.
///
/// One violation for each such group, with its first attempt. Takes O(n log n).
#[must_use]
pub fn contention(facts: &Facts, bounds: &Bounds) -> Verdict {
    let presence = Presence::new(facts, bounds);
    let (mut cases, mut violations) = (0, Vec::new());
    for (name, attempts) in &facts.names {
        let tries = attempts.ungranted.iter().filter(|one| is_refused_try(one));
        cases += tries.count();
        for (refused, before) in groups_refused(attempts, &presence, bounds.tries_collide) {
            violations.push(Violation::FalselyContended {
                name: name.clone(),
                refused: refused.clone(),
                before: before.cloned(),
            });
        }
    }
    Verdict::of(cases, violations)
}

/// Whether the attempt made one try, which was refused. A wait may have been granted as it ended.
fn is_refused_try(attempt: &Ungranted) -> bool {
    attempt.is_contended() && !attempt.may_leave()
}

/// One attempt and the time in which the store may have an entry of it.
struct Present<'a> {
    span: Span,
    /// The attempt, if it was refused as contended and left nothing.
    refused: Option<&'a Ungranted>,
    grant: Option<&'a Grant>,
}

/// The first attempts of the groups in which all were refused, and the last grant before each. If tries collide, only
/// of the groups that are one attempt.
fn groups_refused<'a>(
    attempts: &'a Attempts,
    presence: &Presence,
    tries_collide: bool,
) -> Vec<(&'a Ungranted, Option<&'a Grant>)> {
    let grants = attempts.grants.iter().map(|grant| Present {
        span: presence.of_grant(grant),
        refused: None,
        grant: Some(grant),
    });
    let ungranted = attempts.ungranted.iter().map(|attempt| Present {
        span: presence.of_ungranted(attempt),
        refused: Some(attempt).filter(|attempt| is_refused_try(attempt)),
        grant: None,
    });
    let mut present: Vec<_> = grants.chain(ungranted).collect();
    present.sort_by_key(|one| one.span);

    let (mut found, mut last_grant) = (Vec::new(), None);
    let mut group: Option<(Span, Option<&Ungranted>)> = None;
    for one in present {
        match &mut group {
            Some((span, refused)) if one.span.from <= span.to => {
                span.to = span.to.max(one.span.to);
                *refused = refused.filter(|_| one.refused.is_some() && !tries_collide);
            }
            _ => {
                let before = group.replace((one.span, one.refused));
                found.extend(
                    before
                        .and_then(|(_, refused)| refused)
                        .map(|refused| (refused, last_grant)),
                );
            }
        }
        last_grant = one.grant.or(last_grant);
    }
    found.extend(
        group
            .and_then(|(_, refused)| refused)
            .map(|refused| (refused, last_grant)),
    );
    found
}
