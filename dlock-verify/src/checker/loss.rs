//! The check that a loss is reported in time (C8).

use std::time::Duration;

use super::{
    attempt::{Grant, NEVER},
    bounds::{Bounds, nanos},
    facts::{Facts, Span},
    verdict::Verdict,
    violation::Violation,
};

/// A loss is reported this late at most: what a timer and a task that is woken may take.
const REPORT_MAX: Duration = Duration::from_millis(50);

/// With timers later than this the machine is too slow for a verdict.
pub(super) const LAG_MAX: Duration = Duration::from_millis(200);

/// The losses that a guard did not report in time (K8).
///
/// A loss is due at the deadline, and within the store's bound after a fault has removed the lock's entry. If the
/// process is stopped then, it is due when the process goes on. A report may be 50 ms late, and as late as timers
/// of the run were at that time. If they were later than 200 ms, the case is unknown.
///
/// A case is a grant whose loss was due before its holder gave it back. Without a task that awaits the loss only a
/// guard that still calls itself held is a violation.
#[must_use]
pub fn loss(facts: &Facts, bounds: &Bounds) -> Verdict {
    let (mut cases, mut unknown, mut violations) = (0, 0, Vec::new());
    for grant in facts.grants() {
        let Some(due) = due(grant, facts, bounds) else {
            continue;
        };
        match judge(grant, due, facts) {
            Judgement::NoCase => continue,
            Judgement::InTime => {}
            Judgement::TooSlow => unknown += 1,
            Judgement::Late => {
                let grant = grant.clone();
                violations.push(Violation::LateLoss { grant, due });
            }
        }
        cases += 1;
    }
    if violations.is_empty() && unknown > 0 {
        let reason = format!(
            "in {unknown} of them timers were more than {} ms late: the machine was too slow",
            LAG_MAX.as_millis()
        );
        return Verdict::unknown(cases, reason);
    }
    Verdict::of(cases, violations)
}

enum Judgement {
    /// The loss was not due while the holder had the guard.
    NoCase,
    InTime,
    /// The machine was too slow to say.
    TooSlow,
    Late,
}

fn judge(grant: &Grant, due: u64, facts: &Facts) -> Judgement {
    let judgement = judge_with(grant, due, 0, facts.ends);
    if !matches!(judgement, Judgement::Late) {
        return judgement;
    }
    let lag = lag(grant.client, facts, due);
    match judge_with(grant, due, lag, facts.ends) {
        Judgement::Late if lag > nanos(LAG_MAX) => Judgement::TooSlow,
        judgement => judgement,
    }
}

fn judge_with(grant: &Grant, due: u64, lag: u64, ends: u64) -> Judgement {
    let latest = due.saturating_add(nanos(REPORT_MAX)).saturating_add(lag);
    if grant.claimed > latest {
        return Judgement::Late;
    }
    if grant.quit <= latest && grant.lost > latest {
        return Judgement::NoCase;
    }
    if grant.watched_every == NEVER {
        return match grant.lost {
            NEVER => Judgement::NoCase,
            _ => Judgement::InTime,
        };
    }
    // The deadline may have moved since it was recorded.
    let latest = latest.saturating_add(grant.watched_every);
    if grant.lost <= latest {
        Judgement::InTime
    } else if ends <= latest || grant.quit <= latest {
        Judgement::NoCase
    } else {
        Judgement::Late
    }
}

/// When the loss is due at the latest, if it is before the holder gave the lock back.
fn due(grant: &Grant, facts: &Facts, bounds: &Bounds) -> Option<u64> {
    let removed = facts.destroyed.get(&grant.name);
    let first = removed.and_then(|times| {
        let next = times.partition_point(|at| *at < grant.from);
        let at = times.get(next)?;
        Some(at.saturating_add(nanos(bounds.removal_reported_max)))
    });
    let due = grant.until.min(first.unwrap_or(NEVER));
    let stops = facts.stops.get(&grant.client);
    let slack = match grant.watched_every {
        NEVER => nanos(REPORT_MAX),
        every => nanos(REPORT_MAX).saturating_add(every),
    };
    let stops = stops.into_iter().flatten();
    let due = stops.fold(due, |due, stop| after_stop(due, stop, slack));
    (due < grant.quit && due < NEVER).then_some(due)
}

/// A process that is stopped at `due`, or before its time to report was over, reports when it goes on.
fn after_stop(due: u64, stop: &Span, slack: u64) -> u64 {
    if stop.from <= due.saturating_add(slack) && due < stop.to {
        stop.to
    } else {
        due
    }
}

/// How late timers of the client or of the whole run were about this time.
fn lag(client: u32, facts: &Facts, due: u64) -> u64 {
    let clients = [client, 0]
        .into_iter()
        .take(if client == 0 { 1 } else { 2 });
    let lags = clients
        .filter_map(|client| facts.lags.get(&client))
        .flatten();
    let about = Span {
        from: due,
        to: due.saturating_add(nanos(LAG_MAX)),
    };
    let overlapping = lags.filter(|lag| lag.touches(about));
    overlapping.map(|lag| lag.to - lag.from).max().unwrap_or(0)
}
