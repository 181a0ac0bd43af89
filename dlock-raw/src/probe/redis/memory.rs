//! Memory: whether the server may remove locks, or refuses new ones.

use super::{checks, facts::Facts, given::Given, info::Info};
use crate::probe::{finding::Severity, report::Report};

/// The part of `maxmemory` from which memory is short.
const USED_MAX: f64 = 0.9;

pub(super) fn judge(facts: &Facts, info: &Info, given: &Given, report: &mut Report) {
    let limit: u64 = info.number("maxmemory").unwrap_or(0);
    let policy = info.text("maxmemory_policy");
    if policy.is_empty() {
        for check in [checks::EVICTION, checks::EVICTED, checks::MEMORY] {
            report.no_answer(
                &check,
                "INFO memory has no maxmemory_policy",
                "another server, or its INFO memory",
            );
        }
        return;
    }
    let may_evict = policy != "noeviction";
    report.note(
        &checks::EVICTION,
        match (may_evict, limit) {
            (false, _) => None,
            (true, 0) => {
                let found = format!("{policy}, without a limit of memory");
                let finding = facts.finds(&checks::EVICTION, Severity::Note, found, "noeviction");
                Some(finding.effect("no lock is removed before maxmemory is set"))
            }
            (true, limit) => {
                let found = format!("{policy}, maxmemory {}", bytes(limit));
                let finding = facts.finds(&checks::EVICTION, Severity::Danger, found, "noeviction");
                Some(match given.may_evict {
                    true => finding,
                    // Else dlock refuses the server.
                    false => finding.advice(format!(
                        "{}; or may_evict=true in the URL, for locks that may vanish",
                        checks::EVICTION.advice
                    )),
                })
            }
        },
    );
    let evicted: u64 = info.number("evicted_keys").unwrap_or(0);
    let severity = if may_evict {
        Severity::Danger
    } else {
        Severity::Note
    };
    report.note(
        &checks::EVICTED,
        (evicted > 0).then(|| {
            let found = format!("{evicted} keys since the start");
            facts.finds(&checks::EVICTED, severity, found, 0)
        }),
    );
    let used: u64 = info.number("used_memory").unwrap_or(0);
    let part = part(used, limit);
    report.note(
        &checks::MEMORY,
        (part > USED_MAX).then(|| {
            let found = format!("{:.0} % of {}", part * 100.0, bytes(limit));
            let finding = facts.finds(&checks::MEMORY, Severity::Warning, found, "at most 90 %");
            match may_evict {
                true => {
                    finding.effect("each new lock makes the server remove keys, also of others")
                }
                false => finding,
            }
        }),
    );
    if may_evict && limit > 0 {
        let known = report.evictions.get_or_insert_default();
        known.keys += evicted;
        known.are_near |= part > USED_MAX;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a part needs no more")]
fn part(used: u64, limit: u64) -> f64 {
    if limit == 0 {
        0.0
    } else {
        used as f64 / limit as f64
    }
}

/// A number of bytes in the unit that fits.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        1_048_576..1_073_741_824 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}
