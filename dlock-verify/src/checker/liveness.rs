//! The check of liveness (C6).

use std::time::Duration;

use super::{
    attempt::{NEVER, Outcome},
    bounds::{Bounds, nanos},
    facts::{Attempts, Facts, Span},
    loss::LAG_MAX,
    presence::Presence,
    verdict::Verdict,
    violation::{Violation, Waiter},
};
use crate::history::Name;

/// A grant takes so much beyond `takeover_max`: round trips, and a busy machine.
const GRANT_MAX: Duration = Duration::from_secs(1);

/// The waiters that are not granted a lock although it is free and no fault is on (K6).
///
/// A lock is free when no guard of it is held, and no attempt that ended without a confirmed release is younger
/// than `ttl + takeover_max`. Then some waiter is granted within `takeover_max` and a second, and as much later as timers
/// were late in that time. While they are more than 200 ms late, nothing is known.
///
/// One violation for each such time, with one waiter. Takes O(n log n), and O(n) for each fault.
#[must_use]
pub fn liveness(facts: &Facts, bounds: &Bounds) -> Verdict {
    let wait_max = nanos(bounds.takeover_max.saturating_add(GRANT_MAX));
    let faults = faults(facts, bounds);
    let (mut cases, mut violations) = (0, Vec::new());
    for (name, attempts) in &facts.names {
        let waiters = waiters(name, attempts);
        cases += waiters.len();
        let mut busy = busy(facts, bounds, attempts);
        busy.extend(&faults);
        let whole = Span {
            from: facts.begins,
            to: facts.ends,
        };
        for free in gaps(whole, busy) {
            if free.to - free.from <= wait_max {
                continue;
            }
            let wait_max = wait_max.saturating_add(lagged(facts, free));
            let starved = starved(&waiters, free, wait_max);
            violations.extend(starved.map(|waiter| Violation::Starved {
                waiter: waiter.clone(),
                free,
            }));
        }
    }
    Verdict::of(cases, violations)
}

/// The times in which the store may be unable to grant.
fn faults(facts: &Facts, bounds: &Bounds) -> Vec<Span> {
    let recovery = nanos(bounds.recovery_max);
    let faults = facts.faults.iter().map(|fault| fault.span);
    // A process that is stopped may be the first in the queue.
    let stops = facts.stops.values().flatten().copied();
    let lags = facts.lags.values().flatten().copied();
    let lags = lags.filter(|lag| lag.to - lag.from > nanos(LAG_MAX));
    let until_recovered = |span: Span| Span {
        from: span.from,
        to: span.to.saturating_add(recovery),
    };
    faults
        .chain(stops)
        .map(until_recovered)
        .chain(lags)
        .collect()
}

/// For how long of this time some timer was late.
fn lagged(facts: &Facts, free: Span) -> u64 {
    let lags = facts.lags.values().flatten().copied();
    let on_time = gaps(free, lags.filter(|lag| lag.touches(free)).collect());
    let on_time: u64 = on_time.iter().map(|span| span.to - span.from).sum();
    free.to - free.from - on_time
}

/// The times in which the lock is not free.
fn busy(facts: &Facts, bounds: &Bounds, attempts: &Attempts) -> Vec<Span> {
    let presence = Presence::new(facts, bounds);
    let grants = attempts.grants.iter().map(|grant| Span {
        from: grant.from,
        to: presence.of_grant(grant).to,
    });
    let ungranted = attempts.ungranted.iter().map(|attempt| {
        let Span { from, to } = presence.of_ungranted(attempt);
        // Until its end a waiter shows whether the lock is granted.
        let from = if is_waiter(attempt.outcome, attempt.is_contended()) {
            attempt.ended
        } else {
            from
        };
        Span { from, to }
    });
    grants.chain(ungranted).collect()
}

fn is_waiter(outcome: Outcome, is_contended: bool) -> bool {
    is_contended || !matches!(outcome, Outcome::Refused(..))
}

/// The attempts that can show that a free lock is not granted, in the order of their requests.
fn waiters(name: &Name, attempts: &Attempts) -> Vec<Waiter> {
    let granted = attempts.grants.iter().map(|grant| Waiter {
        name: name.clone(),
        client: grant.client,
        op: grant.op,
        requested: grant.requested,
        ended: grant.from,
    });
    let ungranted = attempts
        .ungranted
        .iter()
        .filter(|attempt| is_waiter(attempt.outcome, attempt.is_contended()))
        .map(|attempt| Waiter {
            name: name.clone(),
            client: attempt.client,
            op: attempt.op,
            requested: attempt.requested,
            ended: attempt.ended,
        });
    let mut waiters: Vec<_> = granted.chain(ungranted).collect();
    waiters.sort_by_key(|waiter| (waiter.requested, waiter.client, waiter.op));
    waiters
}

/// The parts of `whole` that no span of `busy` covers.
fn gaps(whole: Span, mut busy: Vec<Span>) -> Vec<Span> {
    busy.sort_unstable();
    let (mut gaps, mut free_from) = (Vec::new(), whole.from);
    let end = Span {
        from: whole.to,
        to: NEVER,
    };
    for span in busy.into_iter().chain([end]) {
        if span.from > free_from {
            gaps.push(Span {
                from: free_from,
                to: span.from.min(whole.to),
            });
        }
        free_from = free_from.max(span.to);
        if free_from >= whole.to {
            break;
        }
    }
    gaps
}

/// A waiter that waits in `free` for longer than `wait_max`.
fn starved(waiters: &[Waiter], free: Span, wait_max: u64) -> Option<&Waiter> {
    let latest = free.to.saturating_sub(wait_max);
    let count = waiters.partition_point(|waiter| waiter.requested < latest);
    let waits_long = |waiter: &&Waiter| {
        let (from, to) = (waiter.requested.max(free.from), waiter.ended.min(free.to));
        to.saturating_sub(from) > wait_max
    };
    waiters[..count].iter().rev().find(waits_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_is_not_busy() {
        let span = |(from, to)| Span { from, to };
        let gaps_of = |busy: &[(u64, u64)]| -> Vec<(u64, u64)> {
            let busy = busy.iter().copied().map(span).collect();
            let gaps = gaps(span((10, 100)), busy);
            gaps.into_iter().map(|gap| (gap.from, gap.to)).collect()
        };
        assert_eq!(gaps_of(&[]), [(10, 100)]);
        assert_eq!(
            gaps_of(&[(0, 20), (15, 30), (40, 50)]),
            [(30, 40), (50, 100)]
        );
        assert_eq!(gaps_of(&[(60, NEVER), (20, 30)]), [(10, 20), (30, 60)]);
        assert_eq!(gaps_of(&[(0, NEVER)]), []);
        assert_eq!(gaps_of(&[(120, 130)]), [(10, 100)]);
    }
}
